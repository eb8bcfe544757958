import type { Outputs } from "../api/client.ts";
import type { ShownState } from "../parts/state.tsx";

type Server = Outputs["servers"]["get"];

export function serverState({ is_validating, is_reachable, is_usable, is_coolify_host }: Server): ShownState {
  if (is_validating) return { tone: "busy", word: "Checking" };
  if (!is_reachable)
    return { tone: "bad", word: "Out of reach", reason: "Check that it runs, its address and its key." };
  if (!is_usable) return { tone: "bad", word: "Not usable", reason: "Validate it: the result says what is missing." };
  return is_coolify_host
    ? { tone: "good", word: "Usable", reason: "Berth's own machine." }
    : { tone: "good", word: "Usable" };
}
