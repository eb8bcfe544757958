import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interpolateLabel, labelProblems, readLabels } from "./container-label.ts";

describe("labels", () => {
  test.each([
    [null, {}],
    ["", {}],
    ["a=1\nb=2", { a: "1", b: "2" }],
    ["a=1\r\n\r\n# no label\r\n  b = 2 ", { a: "1", b: " 2" }],
    ["- traefik.http.routers.x.rule=Host(`a.b`) && PathPrefix(`/x=y`)", ruleLabel()],
    ["flag", { flag: "" }],
    ["a=$(id) `id` \"'$HOME", { a: "$(id) `id` \"'$HOME" }],
  ])("%j are %j", (text, labels) => {
    expect(readLabels(text)).toEqual(labels);
  });

  test.each([
    ["a=1\nb.c/d=2", undefined],
    ["berth.managed=false", "Labels that begin with berth. are reserved for Berth."],
    ["Berth.Resource=x", "Labels that begin with berth. are reserved for Berth."],
    ["- berth.instance=x", "Labels that begin with berth. are reserved for Berth."],
    ["com.docker.compose.project=x", "Labels that begin with com.docker.compose. are reserved for docker compose."],
    ["com.docker.swarm.task.name=x.2.y", "Labels that begin with com.docker.swarm. are reserved for Docker Swarm."],
    ["=x", "Write one label per line, as name=value; names cannot contain spaces."],
    ["a b=x", "Write one label per line, as name=value; names cannot contain spaces."],
    [`${"a".repeat(256)}=x`, "Write one label per line, as name=value; names cannot contain spaces."],
  ])("%j are refused with %j", (custom_labels, sentence) => {
    expect(labelProblems({ custom_labels }).custom_labels?.[0]).toBe(sentence);
  });

  test.each([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what a user writes
    ["Host(`${HOST_NAME}`)", "Host(`a.b`)"],
    ["$HOST_NAME.x", "a.b.x"],
    ["$$HOST_NAME", "$HOST_NAME"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what a user writes
    ["${MISSING}-", "-"],
    ["5$ and $1", "5$ and $1"],
    ["$toString", ""],
  ])("without escaping %j means %j", (value, meant) => {
    expect(interpolateLabel(value, { HOST_NAME: "a.b" })).toBe(meant);
  });

  test("mean themselves when every dollar sign is doubled", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(interpolateLabel(text.replaceAll("$", "$$$$"), { a: "b" })).toBe(text);
      }),
    );
  });
});

function ruleLabel() {
  return { "traefik.http.routers.x.rule": "Host(`a.b`) && PathPrefix(`/x=y`)" };
}
