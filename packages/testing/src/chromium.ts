import { existsSync } from "node:fs";

/** The shell, which has no windows, needs about half of the whole browser's CPU for the same pages. */
const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** A browser for tests, of Debian's packages. Empty if none is installed. */
export const CHROMIUM = PROGRAMS.find((path) => existsSync(path)) ?? "";
export const hasChromium = CHROMIUM !== "";
export const CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"];
