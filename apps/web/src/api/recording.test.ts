import type { AppRouter } from "@berth/api";
import { createTRPCClient, httpLink } from "@trpc/client";
import { expect, it } from "vitest";
import { setCodeMode } from "./code-mode.ts";
import { recordedCall, recordingLink } from "./recording.ts";

const sent: string[] = [];
const client = createTRPCClient<AppRouter>({
  links: [
    recordingLink,
    httpLink({
      url: "http://berth.test/trpc",
      fetch: async (url) => {
        sent.push(String(url));
        return new Response(JSON.stringify({ result: { data: { message: "Stopping." } } }));
      },
    }),
  ],
});

it("records what a button would send, without sending it", async () => {
  const stop = async () => (await client.applications.stop.mutate({ uuid: "a" })).message;
  expect(recordedCall(stop)).toEqual({ operation: "applications.stop", input: { uuid: "a" } });
  expect(sent).toEqual([]);
});

it("sends what is asked for later, also while a recorded work has not ended", async () => {
  recordedCall(() => client.applications.stop.mutate({ uuid: "a" }));
  expect(await client.applications.stop.mutate({ uuid: "b" })).toEqual({ message: "Stopping." });
  expect(sent).toEqual(["http://berth.test/trpc/applications.stop"]);
});

it("sends no change while buttons show their code, also of work that waits before it sends", async () => {
  const earlier = sent.length;
  setCodeMode(true);
  try {
    await expect(client.applications.stop.mutate({ uuid: "a" })).rejects.toThrow("Nothing was sent");
    await client.applications.get.query({ uuid: "a" });
  } finally {
    setCodeMode(false);
  }
  expect(sent.slice(earlier)).toEqual([expect.stringContaining("/trpc/applications.get")]);
});

it("knows nothing of work that sends no request", () => {
  expect(recordedCall(async () => "done")).toBeUndefined();
});
