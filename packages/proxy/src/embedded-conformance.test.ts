import type { ProxyWorld } from "./conformance/bed.fixture.ts";
import { proxyConformance } from "./conformance.fixture.ts";
import { startProxy } from "./proxy.fixture.ts";

async function embedded(): Promise<ProxyWorld> {
  let current = await startProxy();
  const { port, folder } = current;
  return {
    proxy: current.proxy,
    httpPort: port,
    async reincarnate() {
      await current.proxy.close({ stopProxy: false });
      current = await startProxy({ folder, port });
      return current.proxy;
    },
    close: () => current.stop(),
  };
}

proxyConformance("The embedded proxy", embedded);
