import { describe, expect, test } from "vitest";
import { choose, nameInCommand } from "./choose.ts";
import { Failure } from "./failure.ts";

const SHOP = { uuid: "u1", name: "shop" };
const BLOG = { uuid: "u2", name: "Blog" };
const OTHER_BLOG = { uuid: "u3", name: "blog" };
const ALL = [SHOP, BLOG, { uuid: "u4", name: "shop-admin" }];

const chosen = (wanted: string, candidates = ALL): string => {
  try {
    return choose(wanted, candidates, { thing: "application" }).uuid;
  } catch (error) {
    if (error instanceof Failure) return [error.message, ...error.details].join(" | ");
    throw error;
  }
};

describe("a name or uuid", () => {
  test.each([
    ["u1", "u1"],
    ["shop", "u1"],
    ["SHOP", "u1"],
    ["blog", "u2"],
  ])("%s means %s", (wanted, uuid) => {
    expect(chosen(wanted)).toBe(uuid);
  });

  test("means the one in exactly that case when another differs by case only", () => {
    expect(chosen("blog", [BLOG, OTHER_BLOG])).toBe("u3");
  });

  test("that is ambiguous lists all it could mean", () => {
    expect(chosen("BLOG", [BLOG, OTHER_BLOG])).toBe(
      "2 applications are called BLOG. Name one by its uuid: | u2  Blog | u3  blog",
    );
  });

  test("that is mistyped is answered with the nearest", () => {
    expect(chosen("shpo")).toContain("No application is called shpo. Did you mean shop?");
    expect(chosen("sho")).toContain("u4  shop-admin");
  });

  test("that is like none lists some, and how many more there are", () => {
    const many = Array.from({ length: 25 }, (_, i) => ({ uuid: `u${i}`, name: `application number ${i}` }));
    expect(chosen("zzz", many)).toMatch(/^No application is called zzz\. \| u0 .*\| and 15 more$/);
    expect(chosen("x", [])).toBe("No application is called x.");
  });

  test("from elsewhere cannot move the cursor", () => {
    expect(chosen("nope", [{ uuid: "u1", name: "\u001b[2Jevil\r\nname" }])).toBe(
      "No application is called nope. | u1  evil name",
    );
  });
});

test.each([
  ["shop", "a1", [], "shop"],
  ["shop", "a1", [{ uuid: "a2", name: "Shop" }], "shop"],
  ["shop", "a1", [{ uuid: "a2", name: "shop" }], "a1"],
  ["my shop", "a1", [], "a1"],
  ["-shop", "a1", [], "a1"],
  ["$(shop)", "a1", [], "a1"],
])("%s is named in a command by what means it alone, beside %j", (name, uuid, others, expected) => {
  expect(nameInCommand({ uuid, name }, [{ uuid, name }, ...others])).toBe(expected);
});
