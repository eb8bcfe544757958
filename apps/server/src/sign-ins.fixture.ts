import type { SignIns } from "@berth/control";

const nobody = async () => {
  throw new Error("Nobody signs in here.");
};

/** For servers that nobody signs in to. */
export const noSignIns: SignIns = {
  signIn: nobody,
  methods: () => ({ mailed_link: false }),
  requestLink: nobody,
  inspectLink: nobody,
  redeemLink: nobody,
  beginWithPasskey: nobody,
  signInWithPasskey: nobody,
  providers: nobody,
  beginAtProvider: nobody,
  finishAtProvider: nobody,
};
