import type { ClientHttp2Session } from "node:http2";
import { changedPlan, sourcesOf } from "./definition.ts";
import type { SharedFolder } from "./file-sync.ts";
import { call, type Method } from "./grpc.ts";
import { PlanRequest, PlanResponse, ReturnRequest, ReturnResponse, type SourceOp } from "./messages.ts";

/** Decides about the sources of a build: throws to refuse them, or returns local replacements. */
export type SourceGuard = (sources: readonly SourceOp[], signal: AbortSignal) => Promise<readonly FetchedSource[]>;

export interface FetchedSource {
  readonly source: SourceOp;
  readonly folder: SharedFolder;
}

export interface PlannedBuild {
  /** Id of the build that waits for its plan. */
  readonly ref: string;
  readonly session: string;
  readonly frontend: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The folders that the guard downloaded are added here. */
  readonly folders: Record<string, SharedFolder>;
  readonly guard: SourceGuard;
  /** The control group of every step that runs a program. */
  readonly group?: string | undefined;
}

/**
 * Submits the plan of a build: the frontend makes it, the guard checks and replaces its sources, and only then does
 * the engine build exactly this plan.
 */
export async function submitPlan(control: ClientHttp2Session, build: PlannedBuild, signal: AbortSignal): Promise<void> {
  const ask = <Request, Response>(method: Method<Request, Response>, request: Request) =>
    only(call(control, method, request, signal, { "buildkit-controlapi-buildid": build.ref }));
  const results = { allowResultReturn: true, allowResultArrayRef: true };
  const { frontend: Frontend, attributes: FrontendOpt } = build;
  const { result } = await ask(PLAN, { Frontend, FrontendOpt, CacheImports: [], ...results });
  const definition = result?.ref?.def;
  if (result == null || definition == null || definition.def.length === 0) {
    throw new Error("The engine does not report the plan of a build. Update Docker, or build on another server.");
  }
  const sources = sourcesOf(definition);
  const fetched = await build.guard([...sources.values()], signal);
  const replaced = new Map<string, SourceOp>();
  for (const [digest, source] of sources) {
    const index = fetched.findIndex((one) => one.source === source);
    const found = fetched[index];
    if (found === undefined) continue;
    const name = `berth-fetched-${index}`;
    build.folders[name] = found.folder;
    replaced.set(digest, { identifier: `local://${name}`, attrs: { "local.session": build.session } });
  }
  const wanted = changedPlan(definition, { sources: replaced, group: build.group });
  if (wanted === definition) {
    await ask(RETURN, { result });
    return;
  }
  const changed = await ask(PLAN, {
    Definition: wanted,
    Frontend: "",
    FrontendOpt: {},
    CacheImports: importsOf(FrontendOpt),
    ...results,
  });
  await ask(RETURN, { result: { ref: changed.result?.ref, metadata: result.metadata } });
}

/** Cache imports in the form that the frontend uses in plans. */
const importsOf = (attributes: Readonly<Record<string, string>>): { Type: string; Attrs: Record<string, string> }[] =>
  JSON.parse(attributes["cache-imports"] ?? "[]");

async function only<Message>(answers: AsyncIterable<Message>): Promise<Message> {
  let last: Message | undefined;
  for await (const answer of answers) last = answer;
  if (last === undefined) throw new Error("The engine answered nothing.");
  return last;
}

const SERVICE = "/moby.buildkit.v1.frontend.LLBBridge";
const PLAN = { path: `${SERVICE}/Solve`, request: PlanRequest, response: PlanResponse };
const RETURN = { path: `${SERVICE}/Return`, request: ReturnRequest, response: ReturnResponse };
