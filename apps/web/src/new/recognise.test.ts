import { expect, test } from "vitest";
import { recognise } from "./recognise.ts";

const folder = (files: Readonly<Record<string, string>>) => ({
  name: "shop",
  bytes: 0,
  files: Object.entries(files).map(([path, text]) => ({ path, file: new File([text], path) })),
});

test("says of a folder what the server will run", async () => {
  const files = {
    "requirements.txt": "flask\ngunicorn\n",
    "app.py": "from flask import Flask\napp = Flask(__name__)\n",
  };
  expect(await recognise(folder({ ...files, Dockerfile: "FROM x" }))).toEqual({
    detected: "Python, Flask",
    commands: [
      "python3 -m venv .venv",
      ".venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt",
      expect.stringMatching(/^gunicorn app:app --bind /),
    ],
    notes: [expect.stringContaining("It has a Dockerfile too")],
  });
});

test("says of a folder that nobody knows how to start what helps", async () => {
  const { detected, notes } = await recognise(folder({ "a/b.txt": "" }));
  expect([detected, ...notes]).toEqual([undefined, expect.stringContaining("/ holds a/. Set start_command")]);
  await expect(recognise(folder({ "package.json": "{" }))).rejects.toThrow("package.json is not valid JSON");
});
