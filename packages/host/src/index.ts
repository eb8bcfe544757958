export { type Argv, toShell } from "./argv.ts";
export { carriedEnv, EXPORT_CARRIED } from "./carried-env.ts";
export { type DetachedOptions, type DetachedProcess, spawnDetached } from "./detached.ts";
export { diskSpace } from "./disk.ts";
export { type FileLock, type LockAttempt, lockFile } from "./file-lock.ts";
export { endGroup, isAlive, type ProcessGroup, signalGroup } from "./group.ts";
export type { Host } from "./host.ts";
export { addressRanges } from "./http/address-ranges.ts";
export { guardedAgent } from "./http/guarded-agent.ts";
export { type GuardedDownload, guardedDownload } from "./http/guarded-download.ts";
export { type GuardedFetch, guardedExchange, guardedFetch } from "./http/guarded-fetch.ts";
export { guardedLookup } from "./http/guarded-lookup.ts";
export { guardedSocket } from "./http/guarded-socket.ts";
export { HttpFault } from "./http/http-fault.ts";
export { mayConnect, mayUse, type PrivateHosts } from "./http/private-hosts.ts";
export { readAtMost } from "./http/read-at-most.ts";
export { identify, isLiving, type ProcessIdentity } from "./identity.ts";
export { inTurns } from "./in-turns.ts";
export { readJson, replaceFile, writeJson } from "./json-file.ts";
export { LINE_LENGTH_MAX, type LineSplitter, splitLines } from "./lines.ts";
export { type RunOptions, type RunResult, run } from "./local.ts";
export { localHost } from "./local-host.ts";
export { type MovableHost, movableHost } from "./movable-host.ts";
export { addressBook } from "./own-address.ts";
export { keyReader } from "./private-key.ts";
export {
  bootId,
  commandLine,
  groupMembers,
  type ProcessStat,
  pidsOfUser,
  pidsWithEnv,
  processes,
  processStat,
} from "./procfs.ts";
export { startProgramsApart } from "./programs-apart.ts";
export { REDACTED, redactor } from "./redact.ts";
export { type Sandbox, systemProgram } from "./sandbox.ts";
export { SMALL_NODE } from "./small-node.ts";
export { type SshHost, type SshHostOptions, sshHost } from "./ssh-host.ts";
export { terminalOutput, writeTo } from "./terminal-stream.ts";
export { certificateIssuer } from "./tls/certificate.ts";
export { addressesOf, presentedCertificate } from "./tls/lazy-site-probe.ts";
export { type HostUser, isRoot } from "./user.ts";
