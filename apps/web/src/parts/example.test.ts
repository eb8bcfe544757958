import { expect, it } from "vitest";
import { exampleOf } from "./example.ts";

const call = {
  route: {
    method: "PATCH",
    path: "/applications/{uuid}",
    parameters: [{ name: "uuid", in: "path" }],
  },
  client: "applications.update",
  input: { uuid: "u1", name: "it's mine", is_static: true, http_basic_auth_password: "hunter2" },
  origin: "https://berth.example.com",
};

it("quotes for a shell and hides secrets", () => {
  expect(exampleOf("berth", call)).toBe(
    [
      "berth api PATCH /applications/u1",
      String.raw`-f 'name=it'\''s mine'`,
      "-F is_static=true",
      "-f 'http_basic_auth_password=<http_basic_auth_password>'",
    ].join(" \\\n  "),
  );
  for (const language of ["berth", "curl", "TypeScript"] as const) {
    expect(exampleOf(language, call)).not.toContain("hunter2");
  }
});

it("puts what belongs there into the query", () => {
  const route = { method: "DELETE", path: "/x/{uuid}", parameters: [{ name: "delete_volumes", in: "query" }] };
  const example = exampleOf("curl", { ...call, route, input: { uuid: "a/b", delete_volumes: false } });
  expect(example).toContain("https://berth.example.com/api/v1/x/a%2Fb?delete_volumes=false");
  expect(example).not.toContain("-d");
});

it("tells the object in the path from the one in the body where both have a uuid", () => {
  const route = { method: "PATCH", path: "/applications/{uuid}/storages", parameters: [] };
  const example = exampleOf("berth", { ...call, route, input: { owner_uuid: "a1", uuid: "s1" } });
  expect(example).toBe("berth api PATCH /applications/a1/storages \\\n  -f uuid=s1");
});

it("writes calls one after the other, and makes the client once", () => {
  const deletion = { ...call, route: { method: "DELETE", path: "/x", parameters: [] }, client: "x.delete", input: {} };
  const examples = (["berth", "curl", "TypeScript"] as const).map((language) => exampleOf(language, call, deletion));
  expect(examples[0]).toMatch(/^berth api PATCH .+\n\nberth api DELETE \/x$/s);
  expect(examples[1]).toMatch(/^curl -X PATCH .+\n\ncurl -X DELETE /s);
  expect(examples[2]).toMatch(/applications\.update\.mutate\(.+\);\nawait berth\.x\.delete\.mutate\(\);$/s);
  expect(examples[2]?.match(/createClient\(/g)).toHaveLength(1);
});
