# SPDX-License-Identifier: BSD-2-Clause
# Elixir code: modules, a GenServer, anonymous functions, protocols, an odd function name.
# The truth: names as Elixir itself writes them.
defmodule MyApp.Worker do
  use GenServer

  def init(state), do: {:ok, state}
  def handle_call({:work, n}, _from, state), do: {:reply, MyApp.Math.spin(n, 1), state}
end

defmodule MyApp.Math do
  import Bitwise

  def spin(0, x), do: x
  def spin(n, x), do: spin(n - 1, band(x * 69069 + 1, 0xFFFFFFFF))

  def unquote(:"odd name")(n) do
    spin(n, 2)
    n + 1
  end

  def mapped(n, range) do
    Enum.map(range, fn x ->
      spin(n, 3)
      x + 1
    end)
  end
end

defmodule :elixir_work do
  def processes(_), do: [{:elixir_work, nil}]

  def init(_) do
    {:ok, _} = Application.ensure_all_started(:elixir)
    {:ok, pid} = GenServer.start_link(MyApp.Worker, nil, name: MyApp.Worker)
    n = :workload.calibrate(fn k -> MyApp.Math.spin(k, 1) end, 50_000)
    {pid, n, 0}
  end

  def step({pid, n, rounds}) do
    GenServer.call(pid, {:work, n})
    MyApp.Math."odd name"(n)
    MyApp.Math.mapped(n, 1..3)
    {pid, n, rounds + 1}
  end

  def report([{pid, _, rounds}]) do
    Process.unlink(pid)
    Process.exit(pid, :kill)

    %{
      rounds: rounds,
      registered: inspect(MyApp.Worker),
      names: [
        Exception.format_mfa(MyApp.Worker, :handle_call, 3),
        Exception.format_mfa(MyApp.Math, :spin, 2),
        Exception.format_mfa(MyApp.Math, :"odd name", 1),
        Exception.format_mfa(Enum, :map, 2),
        Exception.format_mfa(MyApp.Math, :"-mapped/2-fun-0-", 2)
      ]
    }
  end
end
