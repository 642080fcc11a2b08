export const session = {
  signedOut: 'You are signed out',
  signedOutHint: 'Your tokens were only in this page’s memory and are gone.',
  signIn: 'Sign in',
  failed: 'Signing in did not work',
  tryAgain: 'Try again',
  ended: 'Your sign-in has ended',
  endedHint: 'Sign in again in another tab and come back: what you typed on this page stays.',
  signInElsewhere: 'Sign in in another tab',
  signInHere: 'Leave this page and sign in',
} as const
