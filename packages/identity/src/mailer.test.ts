import { mailServer, until } from "@berth/testing";
import { expect, test } from "vitest";
import { mailer } from "./index.ts";

const mail = { to: "ada@example.com", subject: "An invitation", text: "https://berth.example/sign-in#code=abc\n" };

test("mail arrives as it was written, from the address that is set, over an account if there is one", async () => {
  const server = await mailServer({ user: "berth", password: "p@ss word" });
  const warnings: unknown[] = [];
  const { send } = mailer({ url: server.url, from: "Berth <berth@example.com>" }, (_text, cause) =>
    warnings.push(cause),
  );
  try {
    send(async () => mail);
    send(async () => undefined);
    await until(() => server.mails.length === 1 || warnings.length > 0);
    expect(warnings).toEqual([]);
    expect(server.mails).toEqual([{ ...mail, from: "berth@example.com", to: ["ada@example.com"] }]);
  } finally {
    await server.close();
  }
});

test("a server that refuses, or is away, and a mail that cannot be made are warnings", async () => {
  const server = await mailServer({ user: "berth", password: "right" });
  const warnings: unknown[] = [];
  const warn = (_text: string, cause: unknown) => void warnings.push(cause);
  const wrong = mailer({ url: server.url.replace("right", "wrong"), from: "berth@example.com" }, warn);
  try {
    wrong.send(async () => mail);
    await until(() => warnings.length === 1);
    expect(String(warnings[0])).toMatch(/535/);
  } finally {
    await server.close();
  }
  mailer({ url: server.url, from: "berth@example.com" }, warn).send(async () => mail);
  await until(() => warnings.length === 2);
  wrong.send(async () => Promise.reject(new Error("no database")));
  await until(() => warnings.length === 3);
  expect(server.mails).toEqual([]);
});

test("an address is one address, whatever is in it", async () => {
  const server = await mailServer();
  const { send } = mailer({ url: server.url, from: "berth@example.com" }, () => {});
  try {
    send(async () => ({ ...mail, to: `"ada,eve@example.com"@example.com` }));
    send(async () => mail);
    await until(() => server.mails.some(({ to }) => to.includes("ada@example.com")));
    expect(server.mails.every(({ to }) => to.length === 1)).toBe(true);
  } finally {
    await server.close();
  }
});
