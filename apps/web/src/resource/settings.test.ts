import { expect, it } from "vitest";
import { placeholdersOf } from "./settings.ts";

it("shows the port that gets requests where no port is set", () => {
  expect(placeholdersOf([{ port: null }, { port: 3000 }])).toEqual({
    ports_exposes: "3000, found by the last deployment",
  });
});

it("shows no port where none gets requests, or nothing runs", () => {
  expect(placeholdersOf([{ port: null }])).toEqual({});
  expect(placeholdersOf([])).toEqual({});
});
