import { existsSync } from "node:fs";
import { describeUnless } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, deploy, get, temporaryRepository } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** A small web server without dependencies, so that no registry is asked: it answers `text`, and GREETING. */
interface Sample {
  readonly name: string;
  /** What its build needs of this machine. */
  readonly programs: readonly string[];
  files(text: string): Readonly<Record<string, string>>;
  /** Breaks its build. */
  readonly broken: Readonly<Record<string, string>>;
  /** What its compiler says then. */
  readonly complaint: RegExp;
}

const GO: Sample = {
  name: "go",
  programs: ["go"],
  files: (text) => ({
    "go.mod": "module example.com/hello\n\ngo 1.19\n",
    "cmd/hello/main.go": `package main

import (
	"fmt"
	"net/http"
	"os"

	"example.com/hello/greeting"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "${text} %s", greeting.Of(os.Getenv("GREETING")))
	})
	if err := http.ListenAndServe(os.Getenv("HOST")+":"+os.Getenv("PORT"), nil); err != nil {
		panic(err)
	}
}
`,
    "greeting/greeting.go": 'package greeting\n\nfunc Of(name string) string {\n\treturn "to " + name\n}\n',
  }),
  broken: { "greeting/greeting.go": "package greeting\n\nfunc Of(name string) string {\n\treturn 1\n}\n" },
  complaint: /greeting\.go:4/,
};

const RUST: Sample = {
  name: "rust",
  programs: ["cargo"],
  files: (text) => ({
    "Cargo.toml": '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/main.rs": `use std::env::var;
use std::io::{Read, Write};
use std::net::TcpListener;

fn main() {
    let listener = TcpListener::bind(format!("{}:{}", var("HOST").unwrap(), var("PORT").unwrap())).unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let body = format!("${text} to {}", var("GREETING").unwrap());
        let head = format!("HTTP/1.1 200 OK\\r\\nContent-Length: {}\\r\\nConnection: close\\r\\n\\r\\n", body.len());
        let _ = stream.write_all((head + &body).as_bytes());
    }
}
`,
  }),
  broken: { "src/main.rs": 'fn main() {\n    let port: u16 = "none";\n}\n' },
  complaint: /src\/main\.rs:2/,
};

const ELIXIR: Sample = {
  name: "elixir",
  programs: ["mix"],
  files: (text) => ({
    "mix.exs": `defmodule Hello.MixProject do
  use Mix.Project

  def project do
    [
      app: :hello,
      version: "0.1.0",
      elixir: "~> 1.14"
    ]
  end

  def application, do: [extra_applications: [:logger], mod: {Hello, []}]
end
`,
    "lib/hello.ex": `defmodule Hello do
  use Application

  def start(_type, _args) do
    port = String.to_integer(System.fetch_env!("PORT"))
    {:ok, socket} = :gen_tcp.listen(port, [:binary, active: false, reuseaddr: true])
    Task.start_link(fn -> serve(socket) end)
  end

  defp serve(socket) do
    {:ok, client} = :gen_tcp.accept(socket)
    _ = :gen_tcp.recv(client, 0)
    body = "${text} to " <> System.fetch_env!("GREETING")
    :gen_tcp.send(client, "HTTP/1.1 200 OK\\r\\nContent-Length: #{byte_size(body)}\\r\\nConnection: close\\r\\n\\r\\n" <> body)
    :gen_tcp.close(client)
    serve(socket)
  end
end
`,
  }),
  broken: { "lib/hello.ex": "defmodule Hello do\n  def start(\nend\n" },
  complaint: /lib\/hello\.ex:3/,
};

/** Maven's own plugins come from a registry, so the project's wrapper calls the compiler itself. */
const JAVA: Sample = {
  name: "java",
  programs: ["java", "javac", "jar"],
  files: (text) => ({
    "pom.xml": "<project><modelVersion>4.0.0</modelVersion><artifactId>hello</artifactId></project>\n",
    mvnw: "set -e\nmkdir -p target/classes\njavac -d target/classes src/Hello.java\njar -c -f target/hello.jar -e Hello -C target/classes .\n",
    "src/Hello.java": `import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

public class Hello {
  public static void main(String[] args) throws Exception {
    var address = new InetSocketAddress(System.getenv("HOST"), Integer.parseInt(System.getenv("SERVER_PORT")));
    var server = HttpServer.create(address, 0);
    server.createContext("/", exchange -> {
      var body = ("${text} to " + System.getenv("GREETING")).getBytes();
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
`,
  }),
  broken: { "src/Hello.java": "public class Hello {\n  int port = nowhere;\n}\n" },
  complaint: /Hello\.java:2/,
};

/** Programs that the user of an application can run too: not those in a home folder. */
const isHere = (program: string) =>
  ["/usr/local/bin", "/usr/bin", "/bin"].some((folder) => existsSync(`${folder}/${program}`));

for (const { name, programs, files, broken, complaint } of [GO, RUST, ELIXIR, JAVA]) {
  const missing = programs.filter((program) => !isHere(program));
  const problem = missing.length === 0 ? undefined : `not on this machine: ${missing.join(", ")}`;

  describeUnless(problem, `an application in ${name} without containers`, () => {
    let server: TestServer;
    const source = temporaryRepository(files("one"));
    beforeAll(async () => {
      server = await testServer();
    });
    afterAll(async () => {
      await server?.dispose();
      source.dispose();
    });

    test("is recognised, compiled, run with its variables, replaced, and kept when the next commit does not compile", async () => {
      const app = await createApplication(server, source, { name });
      const variable = { key: "GREETING", value: "the world" };
      expect((await server.rest("POST", `/applications/${app.uuid}/envs`, variable)).status).toBe(201);
      const first = await deploy(server, app.uuid);
      expect(first, first.log).toMatchObject({ status: "finished" });
      expect(await get(server, app.host)).toEqual({ status: 200, body: "one to the world" });

      source.commit(files("two"));
      const second = await deploy(server, app.uuid);
      expect(second, second.log).toMatchObject({ status: "finished" });
      expect(await get(server, app.host)).toEqual({ status: 200, body: "two to the world" });

      source.commit(broken);
      const third = await deploy(server, app.uuid);
      expect(third).toMatchObject({ status: "failed", error: expect.stringMatching(/build/i) });
      expect(third.log).toMatch(complaint);
      expect(await get(server, app.host)).toEqual({ status: 200, body: "two to the world" });
    }, 600_000);
  });
}
