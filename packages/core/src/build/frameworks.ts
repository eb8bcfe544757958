/** A framework whose build writes files that any web server can serve. */
export interface StaticFramework {
  readonly name: string;
  /** Dependency by which the framework is recognised. */
  readonly dependency: string;
  /** Build command for a package.json without a build script. */
  readonly build: string;
  /** Possible output folders: the first with an index.html is served. `*` matches any one folder. */
  readonly folders: readonly string[];
  /** Whether the browser routes unknown paths (single-page application). */
  readonly isSpa: boolean;
}

/** The first match wins, so a framework precedes those that it is built on. */
export const STATIC_FRAMEWORKS: readonly StaticFramework[] = [
  { name: "Astro", dependency: "astro", build: "astro build", folders: ["dist"], isSpa: false },
  { name: "SvelteKit", dependency: "@sveltejs/adapter-static", build: "vite build", folders: ["build"], isSpa: false },
  { name: "Gatsby", dependency: "gatsby", build: "gatsby build", folders: ["public"], isSpa: false },
  { name: "Eleventy", dependency: "@11ty/eleventy", build: "eleventy", folders: ["_site"], isSpa: false },
  { name: "Docusaurus", dependency: "@docusaurus/core", build: "docusaurus build", folders: ["build"], isSpa: false },
  {
    name: "VitePress",
    dependency: "vitepress",
    build: "vitepress build",
    folders: [".vitepress/dist", "docs/.vitepress/dist"],
    isSpa: false,
  },
  {
    name: "VuePress",
    dependency: "vuepress",
    build: "vuepress build",
    folders: [".vuepress/dist", "docs/.vuepress/dist", "src/.vuepress/dist"],
    isSpa: false,
  },
  {
    name: "Create React App",
    dependency: "react-scripts",
    build: "react-scripts build",
    folders: ["build"],
    isSpa: true,
  },
  { name: "Vue CLI", dependency: "@vue/cli-service", build: "vue-cli-service build", folders: ["dist"], isSpa: true },
  {
    name: "Angular",
    dependency: "@angular/cli",
    build: "ng build",
    folders: ["dist", "dist/*/browser", "dist/*"],
    isSpa: true,
  },
  { name: "Parcel", dependency: "parcel", build: "parcel build", folders: ["dist"], isSpa: false },
  { name: "Vite", dependency: "vite", build: "vite build", folders: ["dist"], isSpa: true },
];

/** A framework with a server of its own, used when package.json has no start script. */
export interface ServerFramework {
  readonly name: string;
  readonly dependencies: readonly string[];
  readonly start: string;
}

export const SERVER_FRAMEWORKS: readonly ServerFramework[] = [
  { name: "Next.js", dependencies: ["next"], start: "next start -p $PORT" },
  { name: "Nuxt", dependencies: ["nuxt"], start: "node .output/server/index.mjs" },
  { name: "SvelteKit", dependencies: ["@sveltejs/kit", "@sveltejs/adapter-node"], start: "node build" },
  { name: "Astro", dependencies: ["astro", "@astrojs/node"], start: "node ./dist/server/entry.mjs" },
];

/**
 * Whether a start script only runs a development or preview server, as in the templates of many static frameworks.
 * Then the built files are served instead.
 */
export const isDevelopmentServer = (script: string): boolean =>
  /^(cross-env\s+)?(\w+=\S+\s+)*((npx|pnpm|yarn|bunx?)\s+(exec\s+|run\s+)?)?(react-scripts start|vite(\s+(dev|serve|preview)\b|\s+-|\s*$)|gatsby (develop|serve)|docusaurus (start|serve)|eleventy\b.*--serve|parcel\s+(?!build)|ng serve|astro (dev|preview)|vuepress (dev|serve)|vitepress (dev|serve|preview)|vue-cli-service serve|webpack(-dev-server| serve)|npm run (dev|develop|serve)\b|nuxt dev|next dev)/.test(
    script,
  );
