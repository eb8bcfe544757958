import { assertRunning, type TestServer } from "../server.fixture.ts";

/** What a fault is done to: a server on its embedded database, with an application that is deployed. */
export interface Ground {
  readonly server: TestServer;
  readonly uuid: string;
  readonly host: string;
}

/** @throws Error when the server has ended: nobody needs to wait for it. */
export async function isHealthy(server: TestServer): Promise<boolean> {
  assertRunning(server);
  return await fetch(`${server.url}/api/health`, { signal: AbortSignal.timeout(10_000) }).then(
    (answer) => answer.ok,
    () => false,
  );
}

/** @throws Error when the server has ended: nobody needs to wait for it. */
export async function canRead(server: TestServer): Promise<boolean> {
  assertRunning(server);
  return await server.rest("GET", "/version").then(
    async ({ status }) => status === 200 && (await server.rest("GET", "/projects")).status === 200,
    () => false,
  );
}

export function expect(isTrue: boolean, broken: string): void {
  if (!isTrue) throw new Error(broken);
}

export const ms = (value: number): string => `${Math.round(value)} ms`;
