import { type ShownCommit, shortCommit } from "./short-commit.ts";

/** A commit's short id and its message; nothing for what was not deployed from a commit. */
export function Commit({ commit, commit_message }: ShownCommit) {
  const id = shortCommit({ commit });
  if (id === undefined) return null;
  return (
    <>
      <span className="mono">{id}</span> {commit_message}
    </>
  );
}
