/**
 * A self-signed certificate for `localhost` and 127.0.0.1, valid until 2126; its key is below. It
 * is of no use outside these tests, which trust it explicitly.
 */
export const testCertificate = `-----BEGIN CERTIFICATE-----
MIIBmDCCAT6gAwIBAgIURrnJgMmN+FEI5efeZbVFpG9hn1gwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwMDMyOFoYDzIxMjYxMDI4
MTAwMzI4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATxyLzLCET97t1Ltp+jsMz9KFZB5KNO/z93fYf9YXHqaAjcimuDnjj4
w9ya7/Qp+r9nB2VUhCqQ0i/xsdhWeQHOo2wwajAdBgNVHQ4EFgQURXnI3tJRZnlc
OO1jGAytyo6VPXowHwYDVR0jBBgwFoAURXnI3tJRZnlcOO1jGAytyo6VPXowGgYD
VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0E
AwIDSAAwRQIgP1ghBOVpb41lmiPmOkVklw3LNz+78TeigZ4CS9zs0uICIQDSQSu5
Iot/lF/sZXpKmfaqk3ZwUum4fJcAms3E3DoN+Q==
-----END CERTIFICATE-----
`;

export const testCertificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggO2E3gE+NJRwzDcH
PVAIFL8PYe20kI8cQhkWWeCTTkWhRANCAATxyLzLCET97t1Ltp+jsMz9KFZB5KNO
/z93fYf9YXHqaAjcimuDnjj4w9ya7/Qp+r9nB2VUhCqQ0i/xsdhWeQHO
-----END PRIVATE KEY-----
`;

/** Writes both into a directory and returns the environment that makes a service use them. */
export async function certificateFiles(
  directory: string,
): Promise<{ TLS_CERT_FILE: string; TLS_KEY_FILE: string }> {
  const files = {
    TLS_CERT_FILE: `${directory}/certificate.pem`,
    TLS_KEY_FILE: `${directory}/key.pem`,
  };
  await Deno.writeTextFile(files.TLS_CERT_FILE, testCertificate);
  await Deno.writeTextFile(files.TLS_KEY_FILE, testCertificateKey);
  return files;
}
