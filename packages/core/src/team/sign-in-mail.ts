import type { Mail } from "../ports/mail.ts";
import { LINK_HOURS } from "./session.ts";

interface MailedLink {
  readonly to: string;
  readonly url: string;
  readonly teamName: string;
}

/** Names are what people typed: a line break would end the subject. */
const oneLine = (name: string): string => name.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();

const CAUTION = "It works once. Do not pass it on: anyone who opens it is signed in as you.";

export const invitationMail = ({ to, url, teamName }: MailedLink): Mail => ({
  to,
  subject: `You are invited to the team ${oneLine(teamName)}`,
  text: [
    `You were added to the team ${oneLine(teamName)} on Berth.`,
    `This link signs you in within the next ${LINK_HOURS} hours:`,
    url,
    CAUTION,
    "If you do not know why you got this mail, ignore it.",
  ].join("\n\n"),
});

export const passwordResetMail = ({ to, url, teamName }: MailedLink): Mail => ({
  to,
  subject: "Sign in to Berth without your password",
  text: [
    `Somebody, probably you, asked to sign in to Berth (team ${oneLine(teamName)}) without the password.`,
    `This link signs you in within the next ${LINK_HOURS} hours, and lets you choose a new password:`,
    url,
    CAUTION,
    "If it was not you, ignore this mail. Your password stays as it is.",
  ].join("\n\n"),
});
