const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export interface Progress {
  say(step: string): void
  end(): void
}

/** One line on a terminal, overwritten at each step and removed at the end; silent elsewhere and under CI. */
export function showProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY || process.env.CI) return { say() {}, end() {} }
  let step = ''
  let tick = 0
  const draw = () => stream.write(`\r\x1b[2K${frames[tick++ % frames.length]} ${step}`)
  const timer = setInterval(() => step && draw(), 100)
  timer.unref()
  return {
    say(next) {
      step = next
      draw()
    },
    end() {
      clearInterval(timer)
      if (step) stream.write('\r\x1b[2K')
    },
  }
}
