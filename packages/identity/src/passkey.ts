import type { PasskeyVerifier } from "@berth/core/ports";
import { PASSKEY_ALGORITHMS } from "@berth/core/team";
import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server";

/** The checks of WebAuthn. The library throws for each way in which an answer is wrong. */
export const passkeyVerifier: PasskeyVerifier = {
  async registered({ clientExtensionResults: _, ...credential }, origin, takeChallenge) {
    const { response, authenticatorAttachment, ...named } = credential;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: { ...named, clientExtensionResults: {}, response: signedOnly(response) },
      expectedChallenge: takeChallenge,
      ...expected(origin),
      supportedAlgorithmIDs: [...PASSKEY_ALGORITHMS],
    }).catch(() => ({ registrationInfo: undefined }));
    if (registrationInfo === undefined) return undefined;
    const { id, publicKey, counter } = registrationInfo.credential;
    return { credential_id: id, public_key: publicKey, counter, is_synced: registrationInfo.credentialBackedUp };
  },

  async used({ clientExtensionResults: _, ...credential }, passkey, origin, takeChallenge) {
    const { response, authenticatorAttachment, ...named } = credential;
    const { clientDataJSON, authenticatorData, signature } = response;
    const { credential_id: id, counter } = passkey;
    const result = await verifyAuthenticationResponse({
      response: { ...named, clientExtensionResults: {}, response: { clientDataJSON, authenticatorData, signature } },
      expectedChallenge: takeChallenge,
      ...expected(origin),
      credential: { id, publicKey: Uint8Array.from(passkey.public_key), counter },
    }).catch(() => undefined);
    if (result?.verified !== true) return undefined;
    const { newCounter, credentialBackedUp } = result.authenticationInfo;
    return { counter: newCounter, is_synced: credentialBackedUp };
  },
};

const expected = (origin: string) => ({
  expectedOrigin: origin,
  expectedRPID: new URL(origin).hostname,
  requireUserVerification: true,
});

const signedOnly = ({ clientDataJSON, attestationObject }: Record<"clientDataJSON" | "attestationObject", string>) => ({
  clientDataJSON,
  attestationObject,
});
