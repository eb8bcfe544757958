import { SecondFactorEnable } from "@berth/core/team";
import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { CopyButton, CopyText } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { Loaded, Section } from "../parts/page.tsx";
import { Age } from "../parts/time.tsx";

const QrCode = lazy(() => import("./qr-code.tsx"));
type Factor = Outputs["auth"]["secondFactor"]["get"];
type Setup = Outputs["auth"]["secondFactor"]["begin"];
const FIELDS = [{ fields: ["code"] }];

/** @param done After the recovery codes were shown. */
export default function SecondFactorSection({ done }: { readonly done?: () => void }) {
  const query = useQuery(trpc.auth.secondFactor.get.queryOptions());
  const [setup, setSetup] = useState<Setup>();
  const [codes, setCodes] = useState<readonly string[]>();
  const closeCodes = () => {
    setCodes(undefined);
    done?.();
  };
  return (
    <Section title="Second factor" about="A code of an authenticator app, asked for after the password.">
      <Loaded query={query}>
        {(factor) => (factor.is_enabled ? <Enabled factor={factor} show={setCodes} /> : <Disabled begin={setSetup} />)}
      </Loaded>
      <Dialog opened={setup !== undefined} onClose={() => setSetup(undefined)} title="Set up an authenticator app">
        {setup !== undefined && (
          <SetupForm
            setup={setup}
            after={(made) => {
              setSetup(undefined);
              setCodes(made);
            }}
          />
        )}
      </Dialog>
      <Dialog opened={codes !== undefined} onClose={closeCodes} title="Your recovery codes">
        {codes !== undefined && <Codes codes={codes} close={closeCodes} />}
      </Dialog>
    </Section>
  );
}

function Disabled({ begin }: { readonly begin: (setup: Setup) => void }) {
  return (
    <Group>
      <Text size="sm">Off. Whoever knows your password can sign in.</Text>
      <ActionButton needs={null} work={() => client.auth.secondFactor.begin.mutate({})} after={begin}>
        Set up an authenticator app
      </ActionButton>
    </Group>
  );
}

function Enabled({ factor, show }: { readonly factor: Factor; readonly show: (codes: readonly string[]) => void }) {
  return (
    <Stack gap="xs">
      <Text size="sm">
        On
        {factor.enabled_at !== null && (
          <>
            , since <Age at={factor.enabled_at} />
          </>
        )}
        . Recovery codes left: {factor.recovery_codes_left}.
      </Text>
      <Group>
        <ActionButton
          needs={null}
          question="Make new recovery codes? The old ones stop working."
          work={() => client.auth.secondFactor.renewRecoveryCodes.mutate({})}
          after={({ recovery_codes }) => show(recovery_codes)}
        >
          New recovery codes
        </ActionButton>
        <ActionButton
          needs={null}
          question="Turn the second factor off? The password is then enough."
          work={() => client.auth.secondFactor.disable.mutate({})}
          after={({ message }) => notify(message)}
        >
          Turn it off
        </ActionButton>
      </Group>
    </Stack>
  );
}

function SetupForm({ setup, after }: { readonly setup: Setup; readonly after: (codes: readonly string[]) => void }) {
  return (
    <Stack>
      <Text size="sm">Scan this with the app, or type the key into it. Then enter the code that it shows.</Text>
      <Suspense fallback={<Skeleton h={220} w={220} />}>
        <QrCode text={setup.uri} label="QR code for the authenticator app" />
      </Suspense>
      <CopyText text={setup.secret} />
      <SchemaForm
        needs={null}
        schema={SecondFactorEnable}
        groups={FIELDS}
        values={{}}
        isNew
        submitLabel="Turn it on"
        submit={(sent) => client.auth.secondFactor.enable.mutate(sent)}
        after={({ recovery_codes }) => after(recovery_codes)}
      />
    </Stack>
  );
}

function Codes({ codes, close }: { readonly codes: readonly string[]; readonly close: () => void }) {
  return (
    <Stack>
      <Text size="sm">
        Keep them apart from the app. Each signs you in once, instead of its code. They are not shown again.
      </Text>
      <ul className="mono" aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <Group>
        <CopyButton text={codes.join("\n")} label="Copy all" />
        <Button onClick={close}>I have kept them</Button>
      </Group>
    </Stack>
  );
}
