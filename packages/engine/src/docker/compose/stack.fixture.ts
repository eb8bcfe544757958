import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StackContainer, StackOptions } from "@berth/core/deploy";
import { NO_STACK_CONTAINER } from "./document.ts";
import type { StackSpec } from "./spec.ts";

/** A release of a compose file. */
export function stackSpec(compose: string, change: StackChange = {}): StackSpec {
  const { containers = {}, stack, files = [], images = {}, ...rest } = change;
  return {
    resourceUuid: `resource-${randomBytes(6).toString("hex")}`,
    deploymentUuid: `deployment-${randomBytes(6).toString("hex")}`,
    resourceNumber: 1,
    kind: "service",
    name: "test",
    env: {},
    ports: [],
    storages: [],
    limits: { memoryBytes: null, cpus: null },
    ...rest,
    artifact: { type: "stack", compose, images, files },
    stack: {
      variables: {},
      networks: [],
      containers: Object.fromEntries(
        Object.entries(containers).map(([name, own]) => [name, { ...NO_STACK_CONTAINER, ...own }]),
      ),
      ...stack,
    },
  };
}

type StackChange = Partial<Omit<StackSpec, "artifact" | "stack">> &
  Partial<Pick<StackSpec["artifact"], "files" | "images">> & {
    readonly containers?: Readonly<Record<string, Partial<StackContainer>>>;
    readonly stack?: Partial<StackOptions>;
  };

export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "berth-stack-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
