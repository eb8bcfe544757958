import { type BuildConfig, portsOf } from "@berth/core/deploy";

/** nginx configuration of a static application: the user's own, or the default. */
export function nginxConfiguration(config: BuildConfig, isSpa: boolean): string {
  const own = config.custom_nginx_configuration;
  if (own !== null && own.trim() !== "") return own;
  const ports = [...new Set([80, ...portsOf(config.ports_exposes, true)])];
  return [
    "server {",
    ...ports.flatMap((port) => [`    listen ${port};`, `    listen [::]:${port};`]),
    "    server_name _;",
    `    root ${SITE_FOLDER};`,
    "    index index.html index.htm;",
    "    absolute_redirect off;",
    "    location / {",
    `        try_files $uri $uri.html $uri/index.html $uri/ ${isSpa ? "/index.html" : "=404"};`,
    "    }",
    "    # Hidden files are not served, except those that are made to be public.",
    "    location ~ /\\.(?!well-known/) {",
    "        return 404;",
    "    }",
    ...(isSpa ? [] : ["    error_page 404 /404.html;", "    location = /404.html {", "        internal;", "    }"]),
    "}",
    "",
  ].join("\n");
}

/** Serves the context as it is. The configuration comes as the secret file `berth-nginx`. */
export const siteDockerfile = (config: Pick<BuildConfig, "static_image">, configurationHash: string): string =>
  [`FROM ${config.static_image}`, `COPY [".", "${SITE_FOLDER}/"]`, ...serveInstructions(configurationHash), ""].join(
    "\n",
  );

/** Serves the files that an earlier stage named `build` left in its folder `/berth-site`. */
export const builtSiteInstructions = (
  config: Pick<BuildConfig, "static_image">,
  configurationHash: string,
): readonly string[] => [
  `FROM ${config.static_image}`,
  `COPY --from=build ["/berth-site/", "${SITE_FOLDER}/"]`,
  ...serveInstructions(configurationHash),
];

/** BuildKit's cache key does not include secrets, so the configuration's hash is added. */
const serveInstructions = (configurationHash: string): readonly string[] => [
  `RUN --mount=type=secret,id=${NGINX_SECRET} ${JSON.stringify(["/bin/sh", "-c", INSTALL, configurationHash])}`,
];

// `host not found` is no failure here: upstream hosts may resolve only where the image runs.
const INSTALL =
  "cp /run/secrets/berth-nginx /etc/nginx/conf.d/default.conf && chmod 0644 /etc/nginx/conf.d/default.conf && " +
  '{ said="$(nginx -t 2>&1)" || case "$said" in *"host not found"*) ;; *) echo "$said" >&2; exit 1;; esac; }';

export const NGINX_SECRET = "berth-nginx";
const SITE_FOLDER = "/usr/share/nginx/html";
