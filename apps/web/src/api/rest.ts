import type { ProblemBody } from "@berth/api";
import { isCodeMode, NOT_SENT } from "./code-mode.ts";
import { sessionHeaders } from "./session.ts";

/** A request of REST that was refused. */
export class RestError extends Error {
  readonly problem: ProblemBody;
  constructor(problem: ProblemBody) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Sends a request to REST, for files, which tRPC cannot transfer. @throws RestError */
export async function rest(path: string, init: RequestInit = {}): Promise<Response> {
  if (isCodeMode() && (init.method ?? "GET") !== "GET") throw new Error(NOT_SENT);
  const response = await fetch(`/api/v1${path}`, { ...init, headers: { ...init.headers, ...sessionHeaders() } });
  if (response.ok) return response;
  throw new RestError((await response.json()) as ProblemBody); // as every refusal of REST
}
