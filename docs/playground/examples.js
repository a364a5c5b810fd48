// Files, and what models wrote about them.

const APP = `import os

def load(path):
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return parse(file.read())

def save(path, data):
    with open(path, "w") as file:
        file.write(render(data))
`

const SERVER = `export function start(port) {
  const server = create();
  server.on("error", report);
  server.listen(port);
  return server;
}

export function stop(server) {
  server.close();
  server.on("error", report);
}
`

const lines = (...all) => `${all.join('\n')}\n`

export const EXAMPLES = [
  {
    name: 'lost indentation',
    path: 'app.py',
    file: APP,
    reply: lines(
      'I make the encoding explicit:',
      '',
      'app.py',
      '<<<<<<< SEARCH',
      'with open(path) as file:',
      '    return parse(file.read())',
      '=======',
      'with open(path, encoding="utf-8") as file:',
      '    return parse(file.read())',
      '>>>>>>> REPLACE',
    ),
  },
  {
    name: 'wrong line numbers in a diff',
    path: 'app.py',
    file: APP,
    reply: lines(
      'Here is the patch:',
      '',
      '```diff',
      '--- a/app.py',
      '+++ b/app.py',
      '@@ -40,3 +40,4 @@',
      ' def save(path, data):',
      '-    with open(path, "w") as file:',
      '+    os.makedirs(os.path.dirname(path), exist_ok=True)',
      '+    with open(path, "w") as file:',
      '         file.write(render(data))',
      '```',
    ),
  },
  {
    name: 'Codex patch',
    path: 'server.js',
    file: SERVER,
    reply: lines(
      '*** Begin Patch',
      '*** Update File: server.js',
      '@@ export function start(port) {',
      '-  server.listen(port);',
      '+  server.listen(port, "127.0.0.1");',
      '*** End Patch',
    ),
  },
  {
    name: 'two places match (refused)',
    path: 'server.js',
    file: SERVER,
    reply: lines(
      'server.js',
      '<<<<<<< SEARCH',
      '  server.on("error", report);',
      '=======',
      '  server.on("error", log);',
      '>>>>>>> REPLACE',
    ),
  },
  {
    name: 'text that is not there (refused)',
    path: 'app.py',
    file: APP,
    reply: lines(
      'app.py',
      '<<<<<<< SEARCH',
      'def save(path, data, mode):',
      '    with open(path, mode) as handle:',
      '=======',
      'def save(path, data, mode="w"):',
      '    with open(path, mode) as handle:',
      '>>>>>>> REPLACE',
    ),
  },
  {
    name: 'placeholder for omitted code (refused)',
    path: 'app.py',
    file: APP,
    reply: lines(
      'app.py',
      '<<<<<<< SEARCH',
      'def load(path):',
      '    if not os.path.exists(path):',
      '        return None',
      '=======',
      'def load(path, missing=None):',
      '    # ... rest of the function unchanged ...',
      '>>>>>>> REPLACE',
    ),
  },
  {
    name: 'curly quotes',
    path: 'settings.py',
    file: lines('NAME = “Emendate”', 'MOTTO = “exact”', 'DEBUG = False'),
    reply: lines(
      'settings.py',
      '<<<<<<< SEARCH',
      'NAME = "Emendate"',
      'MOTTO = "exact"',
      '=======',
      'NAME = "Emendate"',
      'MOTTO = "exactly"',
      '>>>>>>> REPLACE',
    ),
  },
  {
    name: 'copied line numbers',
    path: 'server.js',
    file: SERVER,
    reply: lines(
      'server.js',
      '<<<<<<< SEARCH',
      '     8\texport function stop(server) {',
      '     9\t  server.close();',
      '=======',
      '     8\texport function stop(server) {',
      '     9\t  server.closeAllConnections();',
      '    10\t  server.close();',
      '>>>>>>> REPLACE',
    ),
  },
  {
    name: 'a call of a tool',
    path: 'app.py',
    file: APP,
    reply: `${JSON.stringify({ file_path: 'app.py', old_string: 'return None', new_string: 'return {}' }, null, 2)}\n`,
  },
  {
    name: 'whole file',
    path: 'settings.py',
    file: lines('HOST = "localhost"', 'PORT = 80'),
    reply: lines('settings.py', '```python', 'HOST = "localhost"', 'PORT = 8080', '```'),
  },
]
