// Edits of files in memory by @oh-my-pi/hashline: one JSON command a line on stdin, one answer a line on stdout.
import { InMemoryFilesystem, InMemorySnapshotStore, Patch, Patcher } from "@oh-my-pi/hashline";
import { createInterface } from "node:readline";

const fs = new InMemoryFilesystem();
const snapshots = new InMemorySnapshotStore();
const patcher = new Patcher({ fs, snapshots });
const tags = new Map<string, string>();

// `patches` in turn, each with the tag that the one before left. Only parsing and applying are timed.
async function edit(name: string, patches: string[]) {
	let time = 0;
	for (const patch of patches) {
		const text = patch.replaceAll("#TAG", `#${tags.get(name)}`);
		const start = Bun.nanoseconds();
		try {
			const done = await patcher.apply(Patch.parse(text));
			time += Bun.nanoseconds() - start;
			tags.set(name, done.sections[0].fileHash);
		} catch (error) {
			return { ns: time + Bun.nanoseconds() - start, error: String(error) };
		}
	}
	return { ns: time };
}

async function load(name: string, file: string) {
	const text = await Bun.file(file).text();
	await fs.writeText(name, text);
	tags.set(name, snapshots.record(name, text));
	return {};
}

for await (const line of createInterface({ input: process.stdin })) {
	const asked = JSON.parse(line);
	const answer =
		asked.do === "load" ? await load(asked.name, asked.file)
		: asked.do === "tag" ? { tag: tags.get(asked.name) }
		: await edit(asked.name, asked.patches);
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}
