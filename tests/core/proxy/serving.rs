//! The command `toolweave-serve`, as a process.

use std::{
    fs,
    io::{self, BufRead, BufReader, PipeReader, Read, Write},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

use super::client;

/// A running command, which is killed at the end of a test.
pub(super) struct Serving {
    process: Child,
    pub(super) address: SocketAddr,
    log: Option<JoinHandle<String>>,
}

/// Return the command, in front of an upstream on a free port.
fn command(upstream: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolweave-serve"));
    command.args(["--upstream", upstream, "--port", "0"]);
    command
}

impl Serving {
    /// Run the command in front of an upstream, with further options and variables.
    pub(super) fn new(upstream: &str, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut process = command(upstream)
            .args(options)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = process.stderr.take().unwrap();
        let log = thread::spawn(move || {
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            text
        });
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("serving http://").unwrap().replace("/v1", "");
        Self { process, address: address.parse().unwrap(), log: Some(log) }
    }

    /// Run the command with a standard output that is full until it is read. Return both.
    pub(super) fn with_full_output() -> (Self, PipeReader) {
        let (output, mut full) = io::pipe().unwrap();
        full.write_all("\n".repeat(64 << 10).as_bytes()).unwrap();
        let mut command = command("http://127.0.0.1:9/v1");
        let process = command.stdout(full).stderr(Stdio::null()).spawn().unwrap();
        (Self { process, address: ([127, 0, 0, 1], 0).into(), log: None }, output)
    }

    /// Return true if SIGTERM does not end the process by itself.
    pub(super) fn handles_sigterm(&self) -> bool {
        u64::from_str_radix(&self.status("SigCgt:"), 16).unwrap() >> 14 & 1 == 1
    }

    /// Return the number of entries in a directory of the process below `/proc`.
    pub(super) fn count(&self, directory: &str) -> usize {
        fs::read_dir(format!("/proc/{}/{directory}", self.process.id())).unwrap().count()
    }

    /// Return the resident memory, in KiB.
    pub(super) fn memory(&self) -> usize {
        self.status("VmRSS:").trim_end_matches(" kB").parse().unwrap()
    }

    /// Return a field of the status of the process.
    fn status(&self, field: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        value.trim().to_owned()
    }

    pub(super) fn has_in_flight(&self, count: usize) -> bool {
        let metrics = client::get(self.address, "/metrics").text();
        metrics.contains(&format!("toolweave_requests_in_flight {count}\n"))
    }

    /// Send a signal by its name, such as `TERM`.
    pub(super) fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Wait for the process to end. Return its exit code, and its log.
    pub(super) fn wait(mut self) -> (Option<i32>, String) {
        let code = self.process.wait().unwrap().code();
        (code, self.log.take().map_or_else(String::new, |log| log.join().unwrap()))
    }

    /// Kill the process, and return its log.
    pub(super) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.wait().1
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
