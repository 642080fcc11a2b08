/** Shown with an application, but of no use without the secrets, which never leave the directory. */
export const notTransferred = ['passwordCredentials', 'keyCredentials']
