import { describe, expect, test } from "vitest";
import { ProblemError, problemError } from "./connection/problem.ts";
import { explain, failureLines } from "./explain.ts";
import { EXIT, usage } from "./failure.ts";

const connection = { url: "https://b.example.com", token: "1|secret", origin: "the context prod" };

function told(error: unknown, { isVerbose = false, flags = [] as string[] } = {}): string {
  return failureLines(explain(error, { connection, isVerbose, flagNames: new Set(flags) }));
}

/** An error of tRPC's client. */
function trpcError(httpStatus: number, problem: object): Error {
  return Object.assign(new Error("x"), { name: "TRPCClientError", data: { code: "X", httpStatus, problem } });
}

describe("what went wrong", () => {
  test("with fields is told by the flags they belong to", () => {
    const problem = {
      message: "Validation failed.",
      code: "request.invalid",
      request_id: "r1",
      errors: { ports_exposes: ["Port numbers, separated by commas."], project_uuid: ["This field is required."] },
    };
    const expected =
      "Validation failed.\n  --ports-exposes: Port numbers, separated by commas.\n  project_uuid: This field is required.\n";
    expect(told(trpcError(422, problem), { flags: ["ports-exposes"] })).toBe(expected);
    expect(told(new ProblemError({ ...problem, status: 422 }), { flags: ["ports-exposes"] })).toBe(expected);
    expect(told(trpcError(422, problem), { isVerbose: true })).toContain("code request.invalid, request r1");
  });

  test("says once what its message already says", () => {
    const [refusal, users] = ["Private Key is in use and cannot be deleted.", "Used by server web-1."];
    const problem = { message: `${refusal} ${users}`, errors: { _: [refusal, users] } };
    expect(told(trpcError(422, problem))).toBe(`${refusal} ${users}\n`);
    const unsupported = { message: refusal, errors: { build_pack: [refusal], name: ["Taken."] } };
    expect(told(trpcError(422, unsupported), { flags: ["build-pack"] })).toBe(`${refusal}\n  name: Taken.\n`);
  });

  test("with a field that helps names its flag, where the command has it", () => {
    const message = "Server a has resources. Delete them first, or send force=true to delete them with it.";
    const problem = { message, code: "resource.in_use" };
    expect(told(trpcError(409, problem), { flags: ["force"] })).toContain("or add --force to delete them with it.");
    expect(told(trpcError(409, problem))).toContain("send force=true");
  });

  test.each([
    ["The address of the repository has a query. Correct git_repository.", "Correct --git."],
    ["It has main. Correct git_branch.", "Correct --branch."],
    ["x is not a commit. Set git_commit_sha to a tag.", "Set --git-commit-sha to a tag."],
    ["Correct it.", "Correct it."],
    ["Choose another branch with `git_branch`.", "another branch with --branch."],
    ["Must be at most git_commit_sha.", "Must be at most --git-commit-sha."],
    ["MY_git_commit_sha is a variable.", "MY_git_commit_sha is a variable."],
  ])("names the flags of the command for the fields: %s", (message, said) => {
    const problem = {
      message,
      code: "source.invalid",
      errors: { git_repository: ["Refused.", "Correct git_repository."] },
    };
    const text = told(trpcError(422, problem), { flags: ["git", "branch", "git-commit-sha"] });
    expect(text).toContain(said);
    expect(text).toContain("\n  --git: Refused.\n  --git: Correct --git.\n");
    expect(told(trpcError(422, problem))).toContain(message);
    const long = message.replace(/`?git_branch`?/, "--git-branch");
    expect(told(trpcError(422, problem), { flags: ["git-branch"] })).toContain(long);
  });

  test.each([
    ["foo.example.com", "https://foo.example.com"],
    ["foo.example.com:3000/api", "https://foo.example.com:3000/api"],
    ["http://", undefined],
    ["https://a b.example", undefined],
  ])("with the URL %s says what to write", (url, wanted) => {
    const problem = {
      message: "Validation failed.",
      code: "request.invalid",
      errors: { domains: [`Invalid URL: ${url}`] },
    };
    const text = told(trpcError(422, problem), { flags: ["domains"] });
    expect(text.split("\n")).toEqual([
      ...["Validation failed.", `  --domains: Invalid URL: ${url}`],
      ...(wanted === undefined ? [] : [`  Write https:// in front of it: ${wanted}`]),
      "",
    ]);
  });

  test("with the token says where the token is from, and how to get another", () => {
    const text = told(trpcError(401, { message: "Unauthenticated.", code: "auth.unauthenticated" }));
    expect(text).toBe(
      "https://b.example.com does not know this token (from the context prod).\n  Log in again with: berth login URL\n",
    );
  });

  test("with abilities says how to get a token that has them", () => {
    const problem = { message: "Missing required permissions: deploy", code: "auth.missing_ability" };
    expect(told(trpcError(403, problem))).toContain("berth tokens create NAME --abilities read,write,deploy");
  });

  test("with a URL that is taken names who has it", () => {
    const conflicts = [{ message: "Domain a.example.com is already in use by application 'shop'." }];
    const text = told(trpcError(409, { message: "Conflict.", code: "domain.conflict", conflicts }));
    expect(text).toContain("application 'shop'");
    expect(text).toContain("--force-domain-override");
  });

  test.each([
    ["frequency", "five fields: '30 2 * * *' is each day at 02:30."],
    ["migrate_volumes", "berth move APP --server SERVER --without-data"],
  ])("with the field %s says what helps", (field, remedy) => {
    const problem = { message: "Validation failed.", code: "request.invalid", errors: { [field]: ["Refused."] } };
    expect(told(trpcError(422, problem))).toContain(remedy);
  });

  test("on the way names the address and the reason", () => {
    const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) });
    expect(told(refused)).toMatch(/^https:\/\/b\.example\.com cannot be reached: it refuses connections\.\n/);
    const several = new TypeError("fetch failed", {
      cause: new AggregateError([Object.assign(new Error("x"), { code: "EHOSTUNREACH" })]),
    });
    expect(told(several)).toContain("no route to it");
    expect(told(new Error("wrapped", { cause: refused }))).toContain("it refuses connections");
  });

  test("with what is no Berth says so", () => {
    expect(told(problemError(502, "<html>Bad gateway</html>"))).toContain(
      "does not answer as a Berth server does (status 502)",
    );
    const unread = Object.assign(new Error("x", { cause: new SyntaxError("<") }), { name: "TRPCClientError" });
    expect(told(unread)).toContain("does not answer as a Berth server does.");
  });

  test("in the command line itself is exit code 2", () => {
    const failure = explain(usage("Wrong.", ["Try this."]), {
      connection: undefined,
      isVerbose: false,
      flagNames: new Set(),
    });
    expect(failure.exitCode).toBe(EXIT.usage);
    expect(failureLines(failure)).toBe("Wrong.\n  Try this.\n");
  });

  test("by a mistake of its own keeps its stack for --verbose", () => {
    expect(told(new TypeError("undefined is not a function"))).not.toContain("at ");
    expect(told(new TypeError("undefined is not a function"), { isVerbose: true })).toContain("explain.test.ts");
  });

  test("is told without what a terminal would obey", () => {
    expect(told(trpcError(400, { message: "\u001b[2Jgone\nnext" }))).toBe("gone next\n");
  });
});
