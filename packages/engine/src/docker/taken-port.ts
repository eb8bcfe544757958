/** The port of the server that the engine could not bind, as it says when another container or a program has it. */
export const takenPort = (reason: string): string | undefined =>
  ALLOCATED.exec(reason)?.[1] ?? IN_USE.exec(reason)?.[1];

/** Whether the engine says that a port is in use, without saying which. */
export const isPortTaken = (reason: string): boolean => /port is already allocated|address already in use/.test(reason);

const ALLOCATED = /Bind for \S*:(\d+) failed: port is already allocated/;
// Later versions say `failed to bind host port for 0.0.0.0:80:172.17.0.2:80/tcp: address already in use`.
const IN_USE =
  /(?:listen (?:tcp|udp)\d? \S*|failed to bind host port (?:for )?(?:\d+\.\d+\.\d+\.\d+|\[[^\]]*\])):(\d+)\b.*address already in use/;
