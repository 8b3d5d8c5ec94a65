"""The handlers that `tools.xml` names, with NLWeb's interface.

A handler is constructed with the parameters that the model filled in and with the request. It
answers in messages:

    class Hello:
        def __init__(self, params, handler):
            self.params, self.handler = params, handler

        async def do(self):
            name = self.params.get("name", "you")
            await self.handler.send_message({"message_type": "hello", "text": f"Hello, {name}."})

Each message here has a ``text`` for people, and facts for programs. An empty result is a message
too (``no_results``), and any parameters get an answer.
"""
