import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { imageBaseName, imageReference, readDockerImage } from "./docker-image.ts";

const HASH = "0123456789abcdef".repeat(4);

describe("an image's name", () => {
  test.each<[string, string | null, string, string | null]>([
    ["nginx", null, "nginx", null],
    ["nginx", "1.27", "nginx", "1.27"],
    ["nginx:1.27-alpine", null, "nginx", "1.27-alpine"],
    ["nginx:1.27", "1.27", "nginx", "1.27"],
    [" nginx ", null, "nginx", null],
    ["owner/name:v1", null, "owner/name", "v1"],
    ["ghcr.io/owner/deep/name:v1.2_3", null, "ghcr.io/owner/deep/name", "v1.2_3"],
    ["localhost:5000/name", null, "localhost:5000/name", null],
    ["localhost/name:1", null, "localhost/name", "1"],
    ["registry.example:443/name:tag", null, "registry.example:443/name", "tag"],
    ["a__b-c--d.e_f", null, "a__b-c--d.e_f", null],
    [`nginx@sha256:${HASH}`, null, "nginx@sha256", HASH],
    [`nginx:1.27@sha256:${HASH}`, null, "nginx@sha256", HASH],
    [`ghcr.io/owner/name@sha256:${HASH}`, HASH, "ghcr.io/owner/name@sha256", HASH],
    ["nginx", HASH, "nginx@sha256", HASH],
    [`nginx:${HASH}`, null, "nginx@sha256", HASH],
    ["nginx@sha256", HASH, "nginx@sha256", HASH],
  ])("%s with the tag %s is %s and %s", (text, tag, name, expected) => {
    expect(readDockerImage(text, tag)).toEqual({ image: { name, tag: expected } });
  });

  test.each([
    ...["", ":", "/", "nginx/", "/nginx", "Nginx", "owner//name", "-a", "a-", "a..b", "a___b", "nginx:", "nginx:-x"],
    ...["nginx:a:b", "nginx:sha256:abc", "nginx@sha256:abc", `nginx@sha512:${HASH}`, `nginx@sha256:${HASH}@x`],
    ...[`nginx:1@sha256`, "host:0/name", "host:70000/name", "host.example:/name", "bad_host.example/name"],
    ...["https://ghcr.io/owner/name", "nginx latest", "nginx;id", "$(id)", "ngin\u0000x", `${"a".repeat(600)}`],
    ...[`nginx:${"a".repeat(129)}`, `nginx:sha256:${HASH}`],
  ])("%j is refused", (text) => {
    expect(readDockerImage(text)).toEqual({ problems: { docker_registry_image_name: [expect.any(String)] } });
  });

  test.each<[string, string]>([
    ["nginx:1", "2"],
    [`nginx@sha256:${HASH}`, "latest"],
    ["nginx@sha256", "latest"],
    ["nginx", "a b"],
    ["nginx", "-x"],
    ["nginx", ""],
    ["nginx", `sha256:${HASH}`],
  ])("%s is refused with the tag %j", (text, tag) => {
    expect(readDockerImage(text, tag)).toEqual({ problems: { docker_registry_image_tag: [expect.any(String)] } });
  });

  test("that ends with @sha256 needs a digest", () => {
    expect(readDockerImage("nginx@sha256")).toHaveProperty("problems.docker_registry_image_tag");
  });

  const part = fc.stringMatching(/^[a-z0-9]{1,8}([._-][a-z0-9]{1,8}){0,2}$/);
  // With a dot or a colon, the first part would be a registry.
  const owner = fc.stringMatching(/^[a-z0-9]{1,8}(_[a-z0-9]{1,8})?$/);
  const parts = fc.tuple(owner, fc.array(part, { maxLength: 2 })).map(([first, rest]) => [first, ...rest]);
  const registry = fc.constantFrom("", "ghcr.io/", "localhost:5000/", "registry.example:443/");
  const tag = fc.oneof(fc.stringMatching(/^\w[\w.-]{0,20}$/), fc.stringMatching(/^[a-f0-9]{64}$/));

  test("reads what it has stored, and what it pulls, as the same image", () => {
    fc.assert(
      fc.property(registry, parts, tag, (host, parts, tag) => {
        const text = `${host}${parts.join("/")}`;
        const first = readDockerImage(text, tag);
        if (!("image" in first) || first.image.tag === null) throw new Error(`${text} was refused`);
        const image = { name: first.image.name, tag: first.image.tag };
        expect(readDockerImage(image.name, image.tag)).toEqual(first);
        expect(readDockerImage(imageReference(image))).toEqual(first);
        expect(readDockerImage(`${text}:${tag}`)).toEqual(first);
        expect(imageBaseName(image)).toBe(parts.at(-1));
      }),
    );
  });

  test("never holds what a shell, a URL or a terminal would read otherwise", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.option(fc.string()), (text, tag) => {
        const read = readDockerImage(text, tag);
        if ("image" in read) expect(`${read.image.name}:${read.image.tag}`).toMatch(/^[A-Za-z0-9][\w./:@-]*$/);
      }),
    );
  });
});
