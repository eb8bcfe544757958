import { z } from "zod";

/** Limits of a resource's memory and processors. */
export const LIMIT_SETTINGS = {
  limits_memory: z.string().max(32).default("0").describe("For example 512m or 1g; 0 is unlimited."),
  limits_memory_swap: z.string().max(32).default("0"),
  limits_memory_swappiness: z.int().min(0).max(100).default(60),
  limits_memory_reservation: z.string().max(32).default("0"),
  limits_cpus: z.string().max(32).default("0").describe("For example 0.5; 0 is unlimited."),
  limits_cpuset: z.string().max(255).nullable().default(null).describe("Processors it may run on, such as 0-2,4."),
  limits_cpu_shares: z.int().min(0).max(262144).default(1024),
};

/** The limits in an answer. */
export const LIMIT_FIELDS = {
  limits_memory: z.string(),
  limits_memory_swap: z.string(),
  limits_memory_swappiness: z.int(),
  limits_memory_reservation: z.string(),
  limits_cpus: z.string(),
  limits_cpuset: z.string().nullable(),
  limits_cpu_shares: z.int(),
};

/** Problems of the sent limits, by field. */
export function limitProblems(sent: LimitTexts): Record<string, readonly string[]> {
  const problems: Record<string, readonly string[]> = {};
  for (const field of MEMORY_FIELDS) {
    const text = sent[field];
    if (typeof text === "string" && !isMemory(field, text)) {
      problems[field] = ["Must be a size such as 512m or 1g, or 0 for no limit."];
    }
  }
  if (typeof sent.limits_cpus === "string" && !/^\d{1,4}(\.\d{1,9})?$/.test(sent.limits_cpus)) {
    problems.limits_cpus = ["Must be a number such as 0.5 or 2, or 0 for no limit."];
  }
  if (typeof sent.limits_cpuset === "string" && !isCpuset(sent.limits_cpuset)) {
    problems.limits_cpuset = ["Must be numbers of processors and ranges of them, such as 0-2,4."];
  }
  return problems;
}

/** The syntax of the kernel for processors. Empty means no limit. */
function isCpuset(text: string): boolean {
  return (
    text === "" ||
    text.split(",").every((part) => {
      const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part) ?? [];
      return Number(first) <= Number(last) && Number(last) < PROCESSORS_MAX;
    })
  );
}

const PROCESSORS_MAX = 8192; // The limit of Linux.

function isMemory(field: string, text: string): boolean {
  // For Docker, -1 is unlimited swap.
  return /^\d{1,15}(\.\d{1,9})?[bkmgt]?$/i.test(text) || (field === "limits_memory_swap" && text === "-1");
}

const MEMORY_FIELDS = ["limits_memory", "limits_memory_swap", "limits_memory_reservation"] as const;
type LimitTexts = {
  readonly [Field in (typeof MEMORY_FIELDS)[number] | "limits_cpus" | "limits_cpuset"]?: string | null | undefined;
};
