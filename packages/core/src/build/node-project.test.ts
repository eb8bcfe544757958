import { describe, expect, test } from "vitest";
import { app, type Given, planOf, refusal, summary } from "./plan.fixture.ts";

describe("the package manager", () => {
  test.each<[string, Given, string]>([
    [
      "npm ci with a package-lock.json",
      { entries: ["package-lock.json"] },
      "Node.js (npm) > npm ci > exec node server.js",
    ],
    [
      "npm ci with an npm-shrinkwrap.json",
      { entries: ["npm-shrinkwrap.json"] },
      "Node.js (npm) > npm ci > exec node server.js",
    ],
    ["npm install without a lockfile", {}, "Node.js (npm) > npm install > exec node server.js"],
    [
      "pnpm with its lockfile",
      { entries: ["pnpm-lock.yaml"] },
      "Node.js (pnpm) > pnpm install --frozen-lockfile > exec node server.js",
    ],
    [
      "the last pnpm that reads an old lockfile",
      { entries: ["pnpm-lock.yaml"], workspace: { pnpmLockMajor: 6 } },
      "Node.js (pnpm) > npx --yes pnpm@8 install --frozen-lockfile > exec node server.js",
    ],
    [
      "classic yarn",
      { entries: ["yarn.lock"] },
      "Node.js (yarn) > yarn install --frozen-lockfile --production=false > exec node server.js",
    ],
    [
      "the repository's own yarn",
      { entries: ["yarn.lock"], workspace: { yarnLock: "berry", yarnPath: ".yarn/releases/yarn-4.cjs" } },
      "Node.js (yarn) > node .yarn/releases/yarn-4.cjs install --immutable > exec node server.js",
    ],
    [
      "modern yarn from the registry",
      { entries: ["yarn.lock"], workspace: { yarnLock: "berry" } },
      "Node.js (yarn) > npx --yes --package=@yarnpkg/cli-dist@4 yarn install --immutable > exec node server.js",
    ],
    [
      "yarn of the declared version",
      { entries: ["yarn.lock"], packageJson: app({ packageManager: "yarn@3.6.1+sha224.abc" }) },
      "Node.js (yarn) > npx --yes --package=@yarnpkg/cli-dist@3.6.1 yarn install --immutable > exec node server.js",
    ],
    [
      "the declared one before what lockfiles tell",
      { entries: ["package-lock.json", "pnpm-lock.yaml"], packageJson: app({ packageManager: "pnpm@9.1.0" }) },
      "Node.js (pnpm) > npx --yes pnpm@9.1.0 install --frozen-lockfile > exec node server.js",
    ],
    [
      "the server's own pnpm where that is as new as the declared one",
      { entries: ["pnpm-lock.yaml"], packageJson: app({ packageManager: "pnpm@12.0.1" }) },
      "Node.js (pnpm) > pnpm install --frozen-lockfile > exec node server.js",
    ],
    [
      "the last pnpm that reads settings in package.json",
      { entries: ["pnpm-lock.yaml"], workspace: { hasPnpmSettings: true } },
      "Node.js (pnpm) > npx --yes pnpm@10 install --frozen-lockfile > exec node server.js",
    ],
    [
      "bun with its lockfile",
      { entries: ["bun.lock"], packageJson: app({ scripts: { build: "vite build", start: "bun server.ts" } }) },
      "Bun (bun) > bun install --frozen-lockfile > bun run build > exec bun server.ts",
    ],
    [
      "bun, which starts the TypeScript that is there",
      { entries: ["src/index.ts", "bun.lock"], packageJson: { name: "x" } },
      "Bun (bun) > exec bun src/index.ts",
    ],
    [
      "npm in place of a bun that the server lacks",
      { entries: ["bun.lock"], missingPrograms: ["bun"] },
      "Node.js (npm) > npm install > exec node server.js",
    ],
    [
      "none when there is nothing to install",
      { packageJson: { main: "main.js" } },
      "Node.js (npm) > exec node main.js",
    ],
    [
      "npm when only a script has to run",
      { packageJson: { main: "main.js", scripts: { postinstall: "x" } } },
      "Node.js (npm) > npm install > exec node main.js",
    ],
  ])("is %s", (_what, given, expected) => {
    expect(summary({ packageJson: app(), ...given })).toBe(expected);
  });

  test("warns that bun's lockfile is not obeyed", () => {
    const given = { entries: ["bun.lock"], missingPrograms: ["bun"] };
    expect(planOf({ ...given, packageJson: app() }).warnings).toHaveLength(1);
    expect(refusal({ ...given, packageJson: app({ scripts: { start: "bun run server.ts" } }) })).toContain(
      "bun is not installed on this server: the application is recognised as Bun.",
    );
  });

  test("starts with bun what a script for development starts with it", () => {
    const entries = ["src/index.ts"];
    const packageJson = { scripts: { dev: "bun run --hot src/index.ts" } };
    expect(summary({ entries, packageJson })).toBe("Bun (bun) > exec bun src/index.ts");
    expect(refusal({ entries, packageJson: { scripts: { dev: "tsx src/index.ts" } } })).toContain(
      "deploy.unrecognised",
    );
  });

  test("says that bun is missing where only bun starts what is there", () => {
    const given = { entries: ["index.ts"], missingPrograms: ["bun"] };
    const packageJson = { packageManager: "bun@1.2.0" };
    expect(refusal({ ...given, packageJson })).toContain(
      "deploy.build_failed bun is not installed on this server: the application is recognised as Bun.",
    );
    expect(summary({ ...given, packageJson, config: { start_command: "node --import tsx index.ts" } })).toBe(
      "Start command (npm) > exec node --import tsx index.ts",
    );
    expect(refusal({ ...given, packageJson: {} })).toContain("deploy.unrecognised");
  });

  test("installs what the build needs, whatever NODE_ENV is", () => {
    const npm = planOf({ entries: ["package-lock.json"], packageJson: app() }).steps[0];
    expect(npm?.env).toEqual({ npm_config_include: "dev" });
  });

  test("lets pnpm run scripts of dependencies only where the repository does not rule it itself", () => {
    const steps = (hasPnpmBuildRules: boolean) =>
      planOf({ entries: ["pnpm-lock.yaml"], packageJson: app(), workspace: { hasPnpmBuildRules } }).steps[0]?.env;
    expect(steps(false)).toHaveProperty("pnpm_config_dangerously_allow_all_builds", "true");
    expect(steps(true)).not.toHaveProperty("pnpm_config_dangerously_allow_all_builds");
  });
});

describe("a Node project starts", () => {
  const npm = "(npm) > npm install";
  test.each<[string, Given, string]>([
    ["by its start script", { packageJson: app() }, `Node.js ${npm} > exec node server.js`],
    [
      "after its build script",
      { packageJson: app({ scripts: { build: "tsc", start: "node dist" } }) },
      `Node.js ${npm} > npm run build > exec node dist`,
    ],
    [
      "through npm when there are scripts around start",
      { packageJson: app({ scripts: { prestart: "x", start: "node a" } }) },
      `Node.js ${npm} > exec npm run start`,
    ],
    [
      "by main",
      { packageJson: { main: "lib/app.js", dependencies: { a: "1" } } },
      `Node.js ${npm} > exec node lib/app.js`,
    ],
    ["by main with a space", { packageJson: { main: "my app.js" } }, "Node.js (npm) > exec node 'my app.js'"],
    ["by server.js", { packageJson: {}, entries: ["server.js", "index.js"] }, "Node.js (npm) > exec node server.js"],
    ["by index.js", { packageJson: {}, entries: ["index.js", "app.js"] }, "Node.js (npm) > exec node index.js"],
    ["by app.js", { packageJson: {}, entries: ["app.js"] }, "Node.js (npm) > exec node app.js"],
    [
      "as Next.js by its start script",
      { packageJson: { dependencies: { next: "15" }, scripts: { build: "next build", start: "next start" } } },
      `Next.js ${npm} > npm run build > exec next start`,
    ],
    [
      "as Next.js without one",
      { packageJson: { dependencies: { next: "15" }, scripts: { build: "next build", dev: "next dev" } } },
      `Next.js ${npm} > npm run build > exec next start -p $PORT`,
    ],
    [
      "as exported Next.js",
      {
        packageJson: { dependencies: { next: "15" }, scripts: { build: "next build", start: "next start" } },
        files: { "next.config.mjs": 'export default { output: "export" }' },
      },
      `Next.js, static ${npm} > npm run build > serve out`,
    ],
    [
      "as Nuxt",
      { packageJson: { devDependencies: { nuxt: "4" }, scripts: { build: "nuxt build" } } },
      `Nuxt ${npm} > npm run build > exec node .output/server/index.mjs`,
    ],
    [
      "as generated Nuxt",
      { packageJson: { devDependencies: { nuxt: "4" }, scripts: { build: "nuxt generate" } } },
      `Nuxt, static ${npm} > npm run build > serve .output/public|dist`,
    ],
    [
      "as SvelteKit with adapter-node",
      {
        packageJson: {
          devDependencies: { "@sveltejs/kit": "2", "@sveltejs/adapter-node": "5", vite: "7" },
          scripts: { build: "vite build" },
        },
      },
      `SvelteKit ${npm} > npm run build > exec node build`,
    ],
    [
      "as Astro with a server",
      {
        packageJson: {
          dependencies: { astro: "5", "@astrojs/node": "9" },
          scripts: { build: "astro build", start: "astro dev" },
        },
      },
      `Astro ${npm} > npm run build > exec node ./dist/server/entry.mjs`,
    ],
    [
      "by its own server beside a static framework",
      {
        packageJson: {
          dependencies: { vite: "7", express: "5" },
          scripts: { build: "vite build", start: "NODE_ENV=production node server.js" },
        },
      },
      `Node.js ${npm} > npm run build > exec env NODE_ENV=production node server.js`,
    ],
  ])("%s", (_what, given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test("in production mode, with the programs of its dependencies and of its workspace", () => {
    const { run } = planOf({ packageJson: app(), entries: ["package-lock.json"], workspace: { levelsUp: 2 } });
    expect(run).toEqual({
      type: "shell",
      script: [
        'export PATH="$PWD/node_modules/.bin:$PWD/../../node_modules/.bin:$PATH"',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own expansion.
        'export NODE_ENV="${NODE_ENV:-production}"',
        "exec node server.js",
      ].join("\n"),
    });
  });
});

describe("a static framework is built and served", () => {
  const project = (dependency: string, scripts: Record<string, string>) => ({
    packageJson: { devDependencies: { [dependency]: "1" }, scripts },
  });
  test.each<[Given, string]>([
    [
      project("vite", { build: "vite build", dev: "vite" }),
      "Vite, static (npm) > npm install > npm run build > serve dist (spa)",
    ],
    [
      project("vite", { build: "vite build", start: "vite" }),
      "Vite, static (npm) > npm install > npm run build > serve dist (spa)",
    ],
    [project("vite", {}), "Vite, static (npm) > npm install > vite build > serve dist (spa)"],
    [
      project("react-scripts", { build: "react-scripts build", start: "react-scripts start" }),
      "Create React App, static (npm) > npm install > npm run build > serve build (spa)",
    ],
    [
      project("astro", { build: "astro build", start: "astro dev" }),
      "Astro, static (npm) > npm install > npm run build > serve dist",
    ],
    [
      project("gatsby", { build: "gatsby build", start: "gatsby develop" }),
      "Gatsby, static (npm) > npm install > npm run build > serve public",
    ],
    [
      project("@11ty/eleventy", { build: "eleventy", start: "eleventy --serve" }),
      "Eleventy, static (npm) > npm install > npm run build > serve _site",
    ],
    [
      project("@docusaurus/core", { build: "docusaurus build", start: "docusaurus start" }),
      "Docusaurus, static (npm) > npm install > npm run build > serve build",
    ],
    [
      project("vitepress", { "docs:build": "vitepress build docs" }),
      "VitePress, static (npm) > npm install > npm run docs:build > serve .vitepress/dist|docs/.vitepress/dist",
    ],
    [
      project("parcel", { build: "parcel build a.html", start: "parcel a.html" }),
      "Parcel, static (npm) > npm install > npm run build > serve dist",
    ],
    [
      project("@angular/cli", { build: "ng build", start: "ng serve" }),
      "Angular, static (npm) > npm install > npm run build > serve dist|dist/*/browser|dist/* (spa)",
    ],
    [
      project("@sveltejs/adapter-static", { build: "vite build" }),
      "SvelteKit, static (npm) > npm install > npm run build > serve build",
    ],
  ])("%#: %j", (given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test("from the folder that the user names, as the user says", () => {
    const given = project("gatsby", { build: "gatsby build" });
    expect(summary({ ...given, config: { publish_directory: "/site", is_spa: true } })).toBe(
      "Gatsby, static (npm) > npm install > npm run build > serve /site (spa) !",
    );
  });

  test("but SvelteKit without an adapter for it says what to add", () => {
    const packageJson = { devDependencies: { "@sveltejs/kit": "2", "@sveltejs/adapter-auto": "5", vite: "7" } };
    expect(refusal({ packageJson })).toMatch(/^deploy\.build_failed .*Add @sveltejs\/adapter-node/);
  });
});

describe("a program without a package.json", () => {
  test.each<[string, Given, string]>([
    ["is started by Node", { entries: ["server.js", "lib/"] }, "Node.js (npm) > exec node server.js"],
    ["is started from index.js", { entries: ["index.js", "README.md"] }, "Node.js (npm) > exec node index.js"],
    [
      "is started as its Procfile says",
      { entries: ["app.js"], procfile: "web: node app.js x" },
      "Procfile (npm) > exec node app.js x",
    ],
    [
      "is started as a command says",
      { entries: ["server.js"], config: { start_command: "node server.js --now" } },
      "Start command (npm) > exec node server.js --now",
    ],
    ["is not the scripts of a page", { entries: ["index.html", "index.js"] }, "Static files > serve ."],
    [
      "is not the scripts of another language",
      { entries: ["app.js"], files: { "main.py": "" } },
      "Python > exec python3 main.py",
    ],
    [
      "is not in a folder that is published",
      { entries: ["index.js"], config: { publish_directory: "/site" } },
      "Static files > serve /site !",
    ],
  ])("%s", (_what, given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test("runs in an image with Node", () => {
    expect(planOf({ entries: ["server.js"] }).runtime).toMatchObject({ language: "node" });
  });
});
