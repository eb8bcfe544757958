import { client } from "../api/client.ts";

/** Loaded when a passkey is used. */
const library = () => import("@simplewebauthn/browser");

/** Browsers offer passkeys on https and on localhost, and for host names only. */
export const canUsePasskeys = (): boolean =>
  "PublicKeyCredential" in window && !/^\[|^[\d.]+$/.test(window.location.hostname);

export async function addPasskey(name: string) {
  const optionsJSON = await client.auth.passkeys.begin.mutate({});
  const { startRegistration } = await library();
  const { id, rawId, type, response } = await startRegistration({ optionsJSON }).catch(explain);
  const { clientDataJSON, attestationObject, transports } = response;
  return client.auth.passkeys.create.mutate({
    name,
    credential: { id, rawId, type, response: { clientDataJSON, attestationObject, transports } },
  });
}

export async function signInWithPasskey() {
  return client.auth.passkeys.signIn.mutate({
    credential: await used(await client.auth.passkeys.beginSignIn.mutate({})),
  });
}

export async function confirmWithPasskey() {
  return client.auth.passkeys.confirm.mutate({
    credential: await used(await client.auth.passkeys.beginConfirm.mutate({})),
  });
}

async function used(optionsJSON: Awaited<ReturnType<typeof client.auth.passkeys.beginSignIn.mutate>>) {
  const { startAuthentication } = await library();
  const { id, rawId, type, response } = await startAuthentication({ optionsJSON }).catch(explain);
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  return { id, rawId, type, response: { clientDataJSON, authenticatorData, signature, userHandle } };
}

/** The browser's own errors are long, and name their specification. */
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : "";
  if (name === "InvalidStateError") throw new Error("This device has a passkey of yours already.");
  if (name === "NotAllowedError" || name === "AbortError") {
    throw new Error(
      "No passkey was used: the browser was told not to, found none for this address, or waited too long.",
    );
  }
  throw error;
}
