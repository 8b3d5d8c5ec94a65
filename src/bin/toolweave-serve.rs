//! The command `toolweave-serve`: `toolweave serve` without Python.

use std::{
    env,
    io::{self, Write},
    net::IpAddr,
    process::ExitCode,
    time::Duration,
};

use toolweave::{
    parser::Dialect,
    proxy::{Mode, Server, Settings},
};

const USAGE: &str = "\
usage: toolweave-serve --upstream URL [OPTION [VALUE]]...

Serve the APIs of OpenAI and Anthropic with tool calls, in front of any model. Options:

  --upstream URL              the base URL of the server with the models
  --upstream-key-env VAR      the environment variable with the key for the upstream
  --host ADDRESS              the address to bind (127.0.0.1)
  --port N                    the port (8700); 0 takes a free one
  --api-key-env VAR           the environment variable with the key that clients must send
  --mode MODE                 auto (the default), natural or recover
  --dialect NAME              the dialect of the models
  --retries N                 how often a valid call is asked for in place of an invalid one (1)
  --stream-arguments          stream the arguments of calls as they are written, unvalidated
  --pass PATH                 a path that is passed on to the upstream; may be repeated
  --allow-host NAME           a host name by which clients reach this server; may be repeated
  --allow-origin ORIGIN       an origin of web pages that may send requests; may be repeated
  --max-body-bytes N          of a request (16 MiB)
  --max-concurrency N         requests at once (256)
  --client-timeout S          seconds for a client to send its request, or to read on (60)
  --first-byte-timeout S      seconds for the upstream to begin its reply (600)
  --idle-timeout S            seconds between two pieces of the upstream's reply (300)
  --timeout S                 seconds for a whole reply of the upstream (no limit)
  --record FILE               append replies of the upstream to a file: private data
  --threads N                 threads of the server (1)
  --quiet                     do not write a line of JSON for each request
";

const PORT: u16 = 8700;

/// Time for replies to end after Ctrl-C.
const GRACE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return print(USAGE);
    }
    match settings(&arguments).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // There is no other place for it.
            let _ = writeln!(io::stderr(), "toolweave-serve: {message}");
            ExitCode::from(2)
        }
    }
}

fn print(text: &str) -> ExitCode {
    let written = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(settings: Settings) -> Result<(), String> {
    let server = Server::start(settings).map_err(|error| error.to_string())?;
    // Before the address is printed: who reads it may end the server at once.
    let signals = server.signals().map_err(|error| format!("cannot receive signals: {error}"))?;
    print(&format!("serving http://{}/v1\n", server.address()));
    server.wait_for_signal(signals);
    print("\nstopping; replies that are being written may end\n");
    server.stop(GRACE);
    Ok(())
}

fn settings(arguments: &[String]) -> Result<Settings, String> {
    let placeholder = "http://127.0.0.1/v1".parse().map_err(|_| "no URL".to_owned())?;
    let mut settings = Settings::new(placeholder);
    settings.log = true;
    let (mut host, mut port) = (settings.address.ip(), PORT);
    let mut has_upstream = false;
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        match option.as_str() {
            "--quiet" => {
                settings.log = false;
                continue;
            }
            "--stream-arguments" => {
                settings.stream_arguments = true;
                continue;
            }
            _ => {}
        }
        let value = rest.next().ok_or_else(|| format!("{option} requires a value; see --help"))?;
        let limits = &mut settings.limits;
        match option.as_str() {
            "--upstream" => {
                // It may hold a password, so the error does not repeat it.
                let example = "--upstream must be a URL such as http://127.0.0.1:8080/v1";
                settings.upstream = value.parse().map_err(|_| example.to_owned())?;
                has_upstream = true;
            }
            "--upstream-key-env" => settings.upstream_key = Some(variable(value)?),
            "--host" if value == "localhost" => host = IpAddr::from([127, 0, 0, 1]),
            "--host" => host = parsed(option, value, "an IP address")?,
            "--port" => port = parsed(option, value, "a port from 0 to 65535")?,
            "--api-key-env" => settings.api_key = Some(variable(value)?),
            "--mode" if value == "auto" => settings.mode = None,
            "--mode" => {
                let mode = Mode::from_wire(value);
                let expected =
                    || format!("{option} must be auto, natural or recover, got {value:?}");
                settings.mode = Some(mode.ok_or_else(expected)?);
            }
            "--dialect" => {
                let names: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.name).collect();
                let expected =
                    || format!("{option} must be one of {}, got {value:?}", names.join(", "));
                settings.dialect = Some(Dialect::named(value).ok_or_else(expected)?);
            }
            "--retries" => settings.retries = parsed(option, value, "an integer of at least 0")?,
            "--record" => settings.record = Some(value.into()),
            "--pass" => settings.pass.push(value.clone()),
            "--allow-host" => settings.hosts.push(value.clone()),
            "--allow-origin" => settings.origins.push(value.clone()),
            "--max-body-bytes" => limits.max_body_bytes = count(option, value)?,
            "--max-concurrency" => limits.max_concurrency = count(option, value)?,
            "--client-timeout" => limits.client_timeout = seconds(option, value)?,
            "--first-byte-timeout" => limits.first_byte_timeout = seconds(option, value)?,
            "--idle-timeout" => limits.idle_timeout = seconds(option, value)?,
            "--timeout" => limits.timeout = Some(seconds(option, value)?),
            "--threads" => settings.threads = count(option, value)?,
            _ => return Err(format!("unknown option {option:?}; see --help")),
        }
    }
    if !has_upstream {
        return Err("--upstream is required; see --help".to_owned());
    }
    settings.address = (host, port).into();
    Ok(settings)
}

fn parsed<T: std::str::FromStr>(option: &str, value: &str, expected: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{option} must be {expected}, got {value:?}"))
}

fn count(option: &str, value: &str) -> Result<usize, String> {
    const EXPECTED: &str = "an integer of at least 1";
    let number = parsed(option, value, EXPECTED)?;
    if number > 0 { Ok(number) } else { Err(format!("{option} must be {EXPECTED}, got 0")) }
}

fn seconds(option: &str, value: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "a number of seconds above 0";
    let time = Duration::try_from_secs_f64(parsed(option, value, EXPECTED)?).ok();
    let time = time.filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("{option} must be {EXPECTED}, got {value:?}"))
}

fn variable(name: &str) -> Result<String, String> {
    let key = env::var(name).ok().filter(|key| !key.is_empty());
    key.ok_or_else(|| format!("the environment variable {name} is not set"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn read(line: &str) -> Result<Settings, String> {
        settings(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let settings = read(
            "--upstream http://h/v1 --host ::1 --port 0 --mode natural --dialect hermes \
             --retries 0 --stream-arguments --pass /a --pass /b --timeout 2.5 --threads 2 --record r.jsonl --quiet",
        );
        let settings = settings.unwrap();
        assert_eq!(settings.upstream.as_str(), "http://h/v1");
        assert_eq!(settings.address.to_string(), "[::1]:0");
        assert_eq!(settings.mode, Some(Mode::Natural));
        assert_eq!(settings.dialect.map(|dialect| dialect.name), Some("hermes"));
        assert_eq!((settings.retries, settings.threads, settings.log), (0, 2, false));
        assert_eq!(settings.record, Some("r.jsonl".into()));
        assert!(settings.stream_arguments);
        assert_eq!(settings.pass, ["/a", "/b"]);
        assert_eq!(settings.limits.timeout, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn invalid_options_are_explained() {
        for (line, message) in [
            ("", "--upstream is required"),
            ("--upstream", "--upstream requires a value"),
            ("--upstream nonsense", "--upstream must be a URL such as"),
            ("--port 65536", "--port must be a port from 0 to 65535, got \"65536\""),
            ("--mode native", "--mode must be auto, natural or recover, got \"native\""),
            ("--dialect klingon", "--dialect must be one of natural, "),
            ("--threads 0", "--threads must be an integer of at least 1, got 0"),
            ("--timeout -1", "--timeout must be a number of seconds above 0, got \"-1\""),
            ("--api-key-env TOOLWEAVE_NOT_SET", "TOOLWEAVE_NOT_SET is not set"),
            ("--verbose 1", "unknown option \"--verbose\""),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(message), "{line}: {error}");
        }
    }
}
