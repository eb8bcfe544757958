import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import { hasMajority, noLeader } from "@berth/core/server";
import { engineError } from "@berth/docker-client";
import type Docker from "dockerode";
import { answered } from "./answered.ts";
import { listNodes, type NodeAnswer } from "./nodes.ts";

/** Lists the nodes of a swarm while it has a leader, and knows since when it has had none. */
export class Managers {
  readonly #docker: Docker;
  readonly #server: string;
  #lostAt: Date | undefined;

  /** @param docker Client of a manager. @param server Its name, for messages. */
  constructor(docker: Docker, server: string) {
    this.#docker = docker;
    this.#server = server;
  }

  /** @throws DomainError `cluster.no_leader`, `engine.unreachable`, `engine.failed` */
  async nodes(): Promise<readonly NodeAnswer[]> {
    try {
      const found = await this.#known();
      this.#lostAt = undefined;
      return found;
    } catch (cause) {
      const error = engineError(this.#server, cause);
      if (!isDomainError(error, "cluster.no_leader")) throw error;
      this.#lostAt ??= new Date();
      throw noLeader(this.#server, { since: this.#lostAt, cause: error.cause });
    }
  }

  /** A leader that lost the others answers from its memory for some 15 s. */
  async #known(): Promise<readonly NodeAnswer[]> {
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#ask();
      const managers = found.flatMap(({ ManagerStatus: status }) => status ?? []);
      const answering = managers.filter(({ Reachability }) => Reachability === "reachable");
      if (hasMajority(answering.length, managers.length)) return found;
      if (attempt === ATTEMPTS_MAX) throw noLeader(this.#server);
      // A manager that has just joined counts as one that does not answer.
      await delay(REPEAT_MS, undefined, { ref: false });
    }
  }

  async #ask(): Promise<readonly NodeAnswer[]> {
    const asked = listNodes(this.#docker);
    const found = await Promise.race([asked, delay(ANSWER_MS, undefined, { ref: false })]);
    if (found !== undefined) return found;
    asked.catch(() => undefined);
    // Without a leader the managers answer after 20 s, and the engine itself at once.
    if ((await answered(this.#docker.ping())) !== undefined) throw noLeader(this.#server);
    return await asked;
  }
}

const ATTEMPTS_MAX = 3;
const REPEAT_MS = 1000;
const ANSWER_MS = 4000; // 1,000 times that of a manager with a leader.
