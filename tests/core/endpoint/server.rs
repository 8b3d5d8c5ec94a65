//! A server that follows a script for each connection.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

/// The timeout for everything in a test.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A request that the server received, and its connection.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) head: String,
    pub(crate) body: String,
    /// The number of the connection.
    pub(crate) connection: usize,
}

/// One connection, driven by a script.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
}

impl Connection {
    pub(crate) fn send(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes());
    }

    /// Send the head of a stream and pieces of its body.
    pub(crate) fn stream(&mut self, pieces: &[&str]) {
        self.send(STREAM);
        for piece in pieces {
            self.piece(piece);
        }
    }

    pub(crate) fn piece(&mut self, piece: &str) {
        self.send(&format!("{:x}\r\n{piece}\r\n", piece.len()));
    }

    pub(crate) fn end(&mut self) {
        self.send("0\r\n\r\n");
    }

    /// Wait until the peer has closed the connection; return false on other errors.
    pub(crate) fn wait_for_close(&mut self) -> bool {
        let mut rest = [0; 1024];
        loop {
            match self.stream.read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(err) => return err.kind() == ErrorKind::ConnectionReset,
            }
        }
    }
}

pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// A script that answers one request.
pub(crate) type Script = Box<dyn FnMut(&mut Connection) + Send>;

/// A server on its own port, which stops when dropped.
pub(crate) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// All connections that there have been.
    connections: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<Mutex<bool>>,
}

/// A connection that is closed when this is dropped, even if it is held elsewhere.
struct Closing(TcpStream);

impl Drop for Closing {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Server {
    /// Start a server. Each script answers one request; the last answers all further ones.
    pub(crate) fn new(scripts: Vec<Script>) -> Self {
        Self::on(0, scripts)
    }

    /// Start a server on a port.
    pub(crate) fn on(port: u16, scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(Mutex::new(false));
        let scripts: Arc<[_]> = scripts.into_iter().map(Mutex::new).collect();
        let connections = Arc::<Mutex<Vec<TcpStream>>>::default();
        let (log, halt, all) = (Arc::clone(&requests), Arc::clone(&stop), Arc::clone(&connections));
        let thread = thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if *halt.lock().unwrap() {
                    return;
                }
                let (log, scripts) = (Arc::clone(&log), Arc::clone(&scripts));
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
                stream.set_nodelay(true).unwrap();
                all.lock().unwrap().push(stream.try_clone().unwrap());
                let closing = Closing(stream.try_clone().unwrap());
                thread::spawn(move || {
                    serve(stream, number, &log, &scripts);
                    drop(closing);
                });
            }
        });
        Self { port, requests, connections, thread: Some(thread), stop }
    }

    /// Close the port and all connections.
    pub(crate) fn die(self) {
        for connection in &*self.connections.lock().unwrap() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/chat/completions", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        *self.stop.lock().unwrap() = true;
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn serve(
    stream: TcpStream,
    connection: usize,
    log: &Mutex<Vec<ReceivedRequest>>,
    scripts: &[Mutex<Script>],
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut connection_in_use = Connection { stream };
    while let Some((head, body)) = request(&mut reader) {
        let number = {
            let mut log = log.lock().unwrap();
            log.push(ReceivedRequest { head, body, connection });
            log.len() - 1
        };
        // A request waits until the script has answered the one before it.
        let mut script = scripts[number.min(scripts.len() - 1)].lock().unwrap();
        script(&mut connection_in_use);
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}
