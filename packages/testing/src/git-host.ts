import { DomainError } from "@berth/core";
import type { GitHost, GitHostLogin } from "@berth/core/ports";
import { type HostedRepository, repositoryText } from "@berth/core/source";

/** A git host without network, for tests of the rules around it. */
export interface TestGitHost extends GitHost {
  /** Repositories that every app sees; tests may change them. */
  readonly visible: HostedRepository[];
  /** Branches of every repository. */
  readonly branchNames: string[];
  /** Logins of all calls, in order. */
  readonly logins: GitHostLogin[];
  /** Thrown by every function while it is set. */
  problem: DomainError | undefined;
}

export function testGitHost(): TestGitHost {
  const ask = (login: GitHostLogin) => {
    host.logins.push(login);
    if (host.problem !== undefined) throw host.problem;
  };
  const find = (login: GitHostLogin, name: string) => {
    ask(login);
    const found = host.visible.find(({ full_name }) => full_name.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found;
    throw new DomainError("git_host.not_found", "Repository not found or not accessible by the GitHub App.");
  };
  const host: TestGitHost = {
    visible: [hostedRepository(11, "team/hello"), hostedRepository(12, "team/api")],
    branchNames: ["main", "next"],
    logins: [],
    problem: undefined,
    async repositories(login) {
      ask(login);
      return host.visible;
    },
    repository: async (login, name) => find(login, repositoryText(name)),
    async branches(login, name) {
      find(login, repositoryText(name));
      return host.branchNames.map((branch) => ({ name: branch, commit: { sha: "c".repeat(40) }, protected: false }));
    },
    async readToken(login, repositoryId) {
      ask(login);
      return `token-of-${repositoryId}`;
    },
    mayCall: (url) => !url.includes("169.254."),
  };
  return host;
}

export function hostedRepository(id: number, full_name: string): HostedRepository {
  const [login = "", name = ""] = full_name.split("/");
  return {
    id,
    name,
    full_name,
    owner: { login, id: 1, type: "Organization" },
    private: true,
    html_url: `https://github.test/${full_name}`,
    default_branch: "main",
  };
}
