"""Adapters: the editor where each framework expects it.

Each module needs its framework, which an extra installs, such as `emendate[pydantic-ai]`. Nothing is imported before the
module itself is:

- `anthropic`: the text editor and the memory tool, for the tool runner
- `claude_agent`: a server in this process, for the Claude Agent SDK
- `deepagents`: a backend
- `langchain`: tools
- `openai_agents`: the editor of `apply_patch`, and function tools
- `openhands`: the executor of `file_editor`
- `pydantic_ai`: a toolset
- `smolagents`: tools
"""
