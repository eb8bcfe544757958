import { DomainError } from "@berth/core";
import { z } from "zod";
import {
  answered,
  type CloudAnswer,
  type CloudHttp,
  type CloudHttpOptions,
  type CloudRequest,
  cloudHttp,
} from "./cloud-http.ts";
import { type HetznerRefusal, Paged, read, refusalOf } from "./hetzner-answers.ts";

export interface HetznerClient {
  readonly http: CloudHttp;
  /** The answer of a successful request. @throws DomainError `cloud.refused`, `cloud.failed` */
  ask(token: string, question: CloudRequest): Promise<unknown>;
  /** All pages of a list. @param key The key of the entries in an answer, and the list's path. */
  list<T extends z.ZodType>(
    token: string,
    key: string,
    entry: T,
    query?: Readonly<Record<string, string>>,
  ): Promise<readonly z.infer<T>[]>;
}

const PER_PAGE = "50"; // Hetzner's maximum.
const PAGES_MAX = 200;

export function hetznerClient(options: CloudHttpOptions): HetznerClient {
  const http = cloudHttp("hetzner", options);

  const ask: HetznerClient["ask"] = async (token, question) => {
    const answer = answered(await http(token, question));
    const refusal = refusalIn(answer, token);
    if (refusal !== undefined) throw refused(refusal);
    return answer.body;
  };

  return {
    http,
    ask,
    async list(token, key, entry, query = {}) {
      const Page = z.object({ [key]: z.array(entry) });
      const entries: z.infer<typeof entry>[] = [];
      for (let page = 1, pages = 1; pages <= PAGES_MAX; pages += 1) {
        const question: CloudRequest = {
          path: `/${key}`,
          query: { ...query, page: String(page), per_page: PER_PAGE },
        };
        const body = await ask(token, question);
        entries.push(...(read(Page, body, `its ${key}`)[key] ?? []));
        const next = read(Paged, body, `its ${key}`).meta?.pagination.next_page ?? 0;
        // A page that is not after this one would repeat the list for ever.
        if (next <= page) return entries;
        page = next;
      }
      throw new DomainError("cloud.failed", `Hetzner's list of its ${key} does not end.`);
    },
  };
}

export const refusalIn = ({ status, body }: CloudAnswer, token: string): HetznerRefusal | undefined =>
  status >= 400 ? refusalOf(status, body, token) : undefined;

export function refused(refusal: HetznerRefusal): DomainError {
  const { status, code, message } = refusal;
  const isTokenRefused = status === 401 || code === "unauthorized";
  return new DomainError("cloud.refused", isTokenRefused ? TOKEN_REFUSED : `Hetzner refused: ${message}.`);
}

const TOKEN_REFUSED = "Hetzner does not accept this token. Create a new one in the project's settings there.";
