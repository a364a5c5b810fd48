import type { BackendProtocolV2 } from 'deepagents'
import type { Session } from '../index.js'

/**
 * The files of a session as a backend: edits tolerate what is safe, and errors say which call works.
 *
 * Paths begin with `/`, which is the first directory of the workspace. A file must be read before it is edited, unless
 * the session has `unread: 'allow'`.
 */
export declare class EmendBackend implements BackendProtocolV2 {
  constructor(session: Session)
  ls: BackendProtocolV2['ls']
  glob: BackendProtocolV2['glob']
  grep: BackendProtocolV2['grep']
  read: BackendProtocolV2['read']
  readRaw: BackendProtocolV2['readRaw']
  write: BackendProtocolV2['write']
  edit: BackendProtocolV2['edit']
  delete: NonNullable<BackendProtocolV2['delete']>
  uploadFiles: NonNullable<BackendProtocolV2['uploadFiles']>
  downloadFiles: NonNullable<BackendProtocolV2['downloadFiles']>
}
