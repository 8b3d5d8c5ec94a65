//! Connections of clients.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::{Either, select};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
};

use super::{respond::respond, stalled::Stalling};
use crate::proxy::context::Context;

/// Maximum time for a client to send the head of its next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of the head of a request, and of what is read ahead, in bytes.
const MAX_BUFFER: usize = 32 << 10;

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 64;

/// Connections for each request at once: clients keep some open.
const CONNECTIONS_PER_REQUEST: usize = 4;

/// Pause after a connection could not be accepted, mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accept connections until the server is stopped; then wait until they have ended.
pub(super) async fn accept(
    listener: TcpListener,
    context: Arc<Context>,
    address: SocketAddr,
    mut stopped: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let limit = context.settings.limits.max_concurrency.saturating_mul(CONNECTIONS_PER_REQUEST);
    let places = Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT.min(context.settings.limits.client_timeout))
        .max_buf_size(MAX_BUFFER)
        .max_headers(MAX_HEADERS);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let accepted = {
            let stop = std::pin::pin!(stopped.wait_for(|stopped| *stopped));
            match select(std::pin::pin!(listener.accept()), stop).await {
                Either::Left((accepted, _)) => accepted,
                Either::Right(_) => break,
            }
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(_) => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Each event is one small write.
        let _ = stream.set_nodelay(true);
        let stream = Stalling::new(stream, context.settings.limits.client_timeout);
        let context = Arc::clone(&context);
        let service = service_fn(move |request| {
            let context = Arc::clone(&context);
            async move { Ok::<_, Infallible>(respond(context, address, request).await) }
        });
        let connection = graceful.watch(server.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A client may leave at any time.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

/// Return true if an error is of the connection that would have been accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
