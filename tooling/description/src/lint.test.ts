import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { expect, test } from "vitest";

const source = readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8");

test("Redocly finds no fault with the committed description", async () => {
  const config = await createConfig({
    extends: ["recommended-strict"],
    // The paths are fixed by the API family. Where a literal and a parameter match, OpenAPI prefers the literal.
    rules: { "no-ambiguous-paths": "off" },
  });
  const problems = await lintFromString({ source, config, absoluteRef: "/openapi.json" });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
});

test("Spectral finds no error in the committed description", async () => {
  const linter = new spectral.Spectral();
  // The two packages type a ruleset differently.
  linter.setRuleset({
    extends: [rulesets.oas as unknown as spectral.RulesetDefinition],
    // It reads \p{L} in a pattern without the flag that gives it a meaning. Redocly looks at the examples too.
    rules: { "oas3-valid-media-example": "off" },
  });
  const problems = await linter.run(JSON.parse(source));
  const errors = problems.filter(({ severity }) => severity === 0);
  expect(errors.map(({ code, message, path }) => [code, message, path.join("/")])).toEqual([]);
});
