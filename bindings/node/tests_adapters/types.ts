// Passes what the adapters make to the frameworks; `tsc` checks it against their declarations.
import Anthropic from '@anthropic-ai/sdk'
import { query } from '@anthropic-ai/claude-agent-sdk'
import { Agent as MastraAgent } from '@mastra/core/agent'
import { Agent } from '@openai/agents'
import { anthropic } from '@ai-sdk/anthropic'
import { generateText, type LanguageModel } from 'ai'
import { createDeepAgent } from 'deepagents'
import { Workspace } from 'emendate'
import * as aiSdk from 'emendate/ai-sdk'
import { memory, textEditor, tools } from 'emendate/anthropic'
import { options } from 'emendate/claude-agent'
import { EmendBackend } from 'emendate/deepagents'
import * as mastra from 'emendate/mastra'
import { applyPatchTool, functionTools } from 'emendate/openai-agents'

const workspace = await Workspace.inMemory()
const session = workspace.session()
const approve = async ({ seal }: { seal: string }) => seal !== ''

const runnable = [textEditor(session, { approve, maxCharacters: 10 }), memory(workspace), ...tools(session, 'claude')]
new Anthropic().beta.messages.toolRunner({ model: 'claude', max_tokens: 1, messages: [], tools: runnable })
query({ prompt: '', options: options(session, 'claude', { approve }) })
new Agent({ name: 'editor', tools: [applyPatchTool(session), ...functionTools(session)] })
const editor = anthropic.tools.textEditor_20250728({ execute: aiSdk.textEditor(session) })
const model = '' as LanguageModel
await generateText({ model, prompt: '', tools: { ...aiSdk.tools(session), str_replace_based_edit_tool: editor } })
new MastraAgent({ id: 'a', name: 'a', instructions: '', model: 'openai/x', tools: mastra.tools(session) })
createDeepAgent({ backend: new EmendBackend(session) })

// @ts-expect-error: a workspace is not a session.
textEditor(workspace)
