import { z } from "zod";

const Body = z.looseObject({
  message: z.string(),
  code: z.string().optional(),
  request_id: z.string().optional(),
  error: z.string().optional(),
  errors: z.record(z.string(), z.array(z.string())).optional(),
  conflicts: z.array(z.looseObject({ message: z.string() })).optional(),
  similar_service_types: z.array(z.string()).optional(),
});

/** An error answered by the API, over REST or tRPC. */
export interface Problem extends z.infer<typeof Body> {
  /** HTTP status; `undefined` for errors of the client itself. */
  readonly status: number | undefined;
}

/** Carries a problem of the REST API to `explain`. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

export function problemError(status: number, text: string): ProblemError {
  return new ProblemError(parseProblem(status, text) ?? { status, message: "", code: NOT_BERTH });
}

/** The answer is not Berth's, but that of a proxy in front of it or of another program. */
export const NOT_BERTH = "cli.not_berth";

function parseProblem(status: number, text: string): Problem | undefined {
  try {
    return { ...Body.parse(JSON.parse(text)), status };
  } catch {
    return undefined;
  }
}

/** The API's problem, from an error of the REST or the tRPC client. */
export function problemIn(error: unknown): Problem | undefined {
  if (error instanceof ProblemError) return error.problem;
  const parsed = TrpcError.safeParse(error);
  if (parsed.success) return { ...parsed.data.data.problem, status: parsed.data.data.httpStatus };
  // The answer was not JSON.
  const isForeign = error instanceof Error && error.name === "TRPCClientError" && error.cause instanceof SyntaxError;
  return isForeign ? { message: "", code: NOT_BERTH, status: undefined } : undefined;
}

/** The part of tRPC's client errors that the server's error formatter writes. */
const TrpcError = z.looseObject({ data: z.looseObject({ httpStatus: z.number(), problem: Body }) });

const CONNECTION_CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it refuses connections",
  ENOTFOUND: "its name is not known",
  EAI_AGAIN: "its name cannot be looked up",
  ETIMEDOUT: "it does not answer in time",
  UND_ERR_CONNECT_TIMEOUT: "it does not answer in time",
  UND_ERR_HEADERS_TIMEOUT: "it does not answer in time",
  EHOSTUNREACH: "no route to it",
  ENETUNREACH: "no route to it",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  UND_ERR_SOCKET: "it closed the connection",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is self-signed",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not trusted",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak https",
};

/** The reason why a server could not be reached, as a sentence about "it"; `undefined` for other errors. */
export function connectionTrouble(error: unknown): string | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < CAUSES_MAX; cause = cause.cause, depth++) {
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
    if (code !== undefined && CONNECTION_CODES[code]) return CONNECTION_CODES[code];
    // Contains one error for each address of the name.
    if (cause instanceof AggregateError) {
      const trouble = cause.errors.map(connectionTrouble).find((text) => text !== undefined);
      if (trouble) return trouble;
    }
    if (cause.message === "fetch failed") {
      const inner = cause.cause instanceof Error ? (connectionTrouble(cause.cause) ?? cause.cause.message) : "";
      return inner === "" ? "it does not answer" : inner;
    }
  }
  return undefined;
}

const CAUSES_MAX = 8;
