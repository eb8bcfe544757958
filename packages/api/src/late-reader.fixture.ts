import { connect } from "node:net";

/** Sends a request as a client that reads nothing before all is sent. @returns The answer as it came. */
export async function sendWhole(port: number, head: readonly string[], body: Buffer): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const headers = ["host: x", `content-length: ${body.length}`, "connection: close"];
  socket.write([...head, ...headers, "", ""].join("\r\n"));
  await new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.write(body, resolve);
  });
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  return answer;
}
