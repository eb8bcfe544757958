import { describe, expect, it } from "vitest";
import { openDatabase } from "../client.ts";
import { startChild } from "./child.fixture.ts";
import { dataFolders } from "./folder.fixture.ts";
import { lockFolder } from "./folder-lock.ts";

describe("a data folder", () => {
  const newFolder = dataFolders();

  it("is refused to a second server in one sentence that names the first, and free when the first dies", async () => {
    const folder = await newFolder();
    const child = startChild(folder, "open");
    await child.line("open");
    for (const options of [{}, { embedded: "pglite" as const }, { url: "postgres://localhost/unreached" }]) {
      await expect(openDatabase({ dataFolder: folder, ...options })).rejects.toMatchObject({
        code: "setup.failed",
        message: expect.stringMatching(
          new RegExp(`^Another Berth server \\(process ${child.process.pid}\\) uses the data folder [^.]*\\. Stop it`),
        ),
      });
    }
    await child.kill();
    await (await openDatabase({ dataFolder: folder })).close();
  });

  it("is free when its server has closed, or could not open", async () => {
    const folder = await newFolder();
    await expect(openDatabase({ dataFolder: folder, url: "nonsense" })).rejects.toMatchObject({ code: "setup.failed" });
    const lock = lockFolder(folder);
    expect(() => lockFolder(folder)).toThrow(/Another Berth server/);
    lock.release();
    lockFolder(folder).release();
  });

  it("goes to exactly one of many who start at once", async () => {
    const folder = await newFolder();
    const children = Array.from({ length: 4 }, () => startChild(folder, "open", { embedded: "pglite" }));
    const answers = await Promise.all(children.map((child) => Promise.any([child.line("open"), child.line("failed")])));
    expect(answers.filter((answer) => answer.startsWith("open"))).toHaveLength(1);
    expect(answers.filter((answer) => answer.startsWith("failed Another Berth server"))).toHaveLength(3);
    await Promise.all(children.map((child) => child.kill()));
  });
});
