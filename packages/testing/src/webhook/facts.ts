/** Facts of a push or pull request, for every host. */
export interface TestPush {
  readonly repository?: string;
  readonly repositoryId?: number;
  readonly branch?: string;
  readonly commit?: string;
  readonly files?: readonly string[];
  readonly messages?: readonly string[];
  readonly isDeleted?: boolean;
}

export interface TestPullRequest {
  readonly repository?: string;
  readonly repositoryId?: number;
  readonly action?: "open" | "update" | "close";
  readonly number?: number;
  readonly base?: string;
  readonly commit?: string;
  /** Whether it comes from a fork, by an author unknown to the repository. */
  readonly isPublic?: boolean;
}

export interface TestEvent {
  readonly event: string;
  readonly payload: object;
}

export const GONE = "0".repeat(40);
export const OLD = "6113728f27ae82c7b1a177c8d03f9e96e0adf246";
export const NEW = "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5";

export const PUSH: Required<TestPush> = {
  repository: "team/hello",
  repositoryId: 186853002,
  branch: "main",
  commit: NEW,
  files: ["src/index.ts"],
  messages: ["Say hello"],
  isDeleted: false,
};

export const PULL_REQUEST: Required<TestPullRequest> = {
  repository: "team/hello",
  repositoryId: 186853002,
  action: "open",
  number: 7,
  base: "main",
  commit: NEW,
  isPublic: false,
};

/** All files belong to the last commit. */
export const commitsOf = ({ commit, files, messages }: Required<TestPush>) =>
  messages.map((message, index) => {
    const isLast = index === messages.length - 1;
    return {
      id: isLast ? commit : OLD,
      message,
      timestamp: "2026-05-01T12:00:00+02:00",
      url: `https://git.example/commit/${commit}`,
      author: { name: "Ada", email: "ada@example.com" },
      added: [],
      removed: [],
      modified: isLast ? files : [],
    };
  });
