import { DomainError } from "@berth/core";
import type { EngineImages } from "@berth/core/ports";
import { hasMajority, managingNode, noLeader } from "@berth/core/server";
import Docker from "dockerode";
import type { ImageBuilder } from "../docker/builder.ts";
import type { ComposeTool } from "../docker/compose/tool.ts";
import { answered } from "./answered.ts";
import { listNodes, type ReadNodes, type SwarmNode } from "./nodes.ts";

export interface ManagingNodeOptions {
  /** The manager that is the server of the cluster, with its node's id, which is `null` before its validation. */
  readonly head: () => Omit<SwarmNode, "id"> & { readonly id: string | null };
  readonly nodes: ReadNodes;
  /** Called when calls go through another node from now on. */
  readonly onChange?: ((name: string) => void) | undefined;
}

type Manager = Omit<SwarmNode, "id"> & { readonly id: string | null };

/**
 * The manager that calls of a cluster go through: its server in Berth, and another node while that cannot. The only
 * place that decides it. Any manager passes changes on to the leader, so it does not matter which of them two control
 * planes use at the same moment.
 */
export class ManagingNode {
  /** Client of the engine of that manager. */
  readonly docker: Docker;
  /** Those of that manager. */
  readonly images: EngineImages;
  readonly builder: ImageBuilder;
  readonly compose: ComposeTool;
  readonly #options: ManagingNodeOptions;
  #current: Manager | undefined;
  /** Ends calls that are pending on a manager that was lost. */
  #lost = new AbortController();
  #checkedMs = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | undefined;
  #isAskingHead = false;

  constructor(options: ManagingNodeOptions) {
    this.#options = options;
    this.docker = this.#client();
    const now = () => this.now();
    this.images = {
      find: async (image) => (await now()).images.find(image),
      held: async (layers) => (await now()).images.held(layers),
      async *save(image, without) {
        yield* (await now()).images.save(image, without);
      },
      load: async (content, image, signal) => (await now()).images.load(content, image, signal),
      push: async (image, to, io) => (await now()).images.push(image, to, io),
      pull: async (reference, image, io) => (await now()).images.pull(reference, image, io),
    };
    const { buildPacks } = options.head().builder;
    this.builder = {
      buildPacks,
      build: (request, io) => this.#build(request, io),
      removeImage: async (ref) => (await now()).builder.removeImage(ref),
      removeImages: async (resourceUuid) => (await now()).builder.removeImages(resourceUuid),
    };
    this.compose = { up: async (...args) => (await now()).compose.up(...args) };
  }

  /** The manager to use now; the head where none can manage the cluster. Never rejects. */
  async now(): Promise<Manager> {
    if (performance.now() - this.#checkedMs >= CHECKED_MS) {
      this.#checking ??= this.#check().finally(() => {
        this.#checkedMs = performance.now();
        this.#checking = undefined;
      });
      await this.#checking;
    }
    return this.#current ?? this.#options.head();
  }

  /** Name of the server that replaces the head now; `undefined`: nobody has to. */
  async substitute(): Promise<string | undefined> {
    await this.now();
    return this.#current?.name;
  }

  /** The same as known last, without asking. */
  hasSubstitute(): boolean {
    return this.#current !== undefined;
  }

  headName(): string {
    return this.#options.head().name;
  }

  /** Whether the managers do not reach the head's machine either, so that its proxy serves nobody. */
  async isHeadLost(): Promise<boolean> {
    const { id } = this.#options.head();
    await this.now();
    const other = this.#current;
    if (other === undefined) return false;
    const nodes = await answered(listNodes(other.docker)).catch(() => undefined);
    return nodes?.find(({ ID }) => ID === id)?.Status.State === "down";
  }

  /** What a lost manager still builds is left to the cleanup of its server. */
  async #build(...[request, io]: Parameters<ImageBuilder["build"]>): ReturnType<ImageBuilder["build"]> {
    const { builder, name } = await this.now();
    const { signal: lost } = this.#lost;
    const building = builder.build(request, { ...io, signal: AbortSignal.any([io.signal, lost]) });
    building.catch(() => undefined);
    const listening = new AbortController();
    const losing = new Promise<never>((_resolve, reject) => {
      const onLost = () =>
        reject(new DomainError("engine.unreachable", `Server ${name} was lost during the build. Deploy again.`));
      lost.addEventListener("abort", onLost, { once: true, signal: listening.signal });
    });
    return await Promise.race([building, losing]).finally(() => listening.abort());
  }

  async #check(): Promise<void> {
    const head = this.#options.head();
    const used = this.#current ?? head;
    if (await canManage(used.docker)) {
      // A head that is away answers late, which must not hold up each call.
      if (this.#current !== undefined) void this.#askHead();
      return;
    }
    const nodes = await this.#options.nodes().catch(() => []);
    const others = nodes.filter(({ id }) => id !== used.id);
    const asked = await Promise.all(
      others.map(async (node) => ({ id: node.id, node, canManage: await canManage(node.docker) })),
    );
    const found = managingNode(asked, head.id)?.node;
    this.#use(found === undefined || found.id === head.id ? undefined : found);
  }

  async #askHead(): Promise<void> {
    if (this.#isAskingHead) return;
    this.#isAskingHead = true;
    const isBack = await canManage(this.#options.head().docker);
    this.#isAskingHead = false;
    if (isBack) this.#use(undefined, { isLoss: false });
  }

  #use(next: Manager | undefined, { isLoss = true } = {}): void {
    const before = this.#current;
    if (before?.id === next?.id) return;
    this.#current = next;
    this.#options.onChange?.((next ?? this.#options.head()).name);
    if (!isLoss) return;
    const lost = this.#lost;
    this.#lost = new AbortController();
    lost.abort();
  }

  #client(): Docker {
    const docker = new Docker({ protocol: "http", host: "cluster", port: 80 });
    const dial = async (request: Request, callback: Callback | undefined): Promise<void> => {
      const { docker: engine } = await this.now();
      const { signal: lost } = this.#lost;
      const abortSignal = request.abortSignal ? AbortSignal.any([request.abortSignal, lost]) : lost;
      engine.modem.dial({ ...request, abortSignal }, (error, answer) => {
        // A manager that follows waits for a leader, and then does not say that it has none.
        if (error !== null && LEADERLESS.test(error.message))
          return callback?.(noLeader(this.headName(), { cause: error }), null);
        if (error === null || !lost.aborted || request.abortSignal?.aborted) return callback?.(error, answer);
        // The event feed and logs are opened again by their readers, and changes are checked before they are repeated.
        if (request.method === "GET" && request.isStream !== true) return void dial(request, callback);
        callback?.(new Error("the manager that was asked is not reached any more"), null);
      });
    };
    docker.modem.dial = (request, callback) => void dial(request, callback);
    return docker;
  }
}

const LEADERLESS = /code = DeadlineExceeded/;

type Dial = Docker["modem"]["dial"];
type Request = Parameters<Dial>[0];
type Callback = NonNullable<Parameters<Dial>[1]>;

/** A leader that lost the others answers from its memory for some 15 s, and lists them as lost. */
async function canManage(docker: Docker): Promise<boolean> {
  const found = await answered(listNodes(docker)).catch(() => undefined);
  const managers = found?.flatMap(({ ManagerStatus: status }) => status ?? []) ?? [];
  const answering = managers.filter(({ Reachability }) => Reachability === "reachable");
  return managers.length > 0 && hasMajority(answering.length, managers.length);
}

/** A call of a few milliseconds, at most this often. */
const CHECKED_MS = 2000;
